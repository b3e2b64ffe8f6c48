// what: uses up inodes: files, folders, links, sockets
// checklist: 18
// expect: FORBIDDEN WRONG_ANSWER
// screened: FORBIDDEN
// variant: files: open(name, O_WRONLY | O_CREAT, 0644)
// variant: unnamed: open("/tmp", O_WRONLY | O_TMPFILE, 0644)
// variant: folders: mkdir(name, 0755)
// variant: links: symlink("/etc/shadow", name)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < 10000; ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "/tmp/%d", i);
    if (VARIANT >= 0) c[0] = i;
  }
}
