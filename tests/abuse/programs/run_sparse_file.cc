// what: fills the disk without writing: sparse files, fallocate, truncate
// checklist: 17
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: fallocate: fallocate(fd, 0, 0, 1LL << 40)
// variant: truncate: ftruncate(fd, 1LL << 40)
// variant: pwrite: pwrite(fd, "x", 1, 1LL << 40)
// variant: copy: copy_file_range(0, nullptr, fd, nullptr, 1 << 30, 0)
#include <fcntl.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  int fd = open("/work/sparse", O_RDWR | O_CREAT, 0644);
  if (fd < 0) fd = open("/tmp/sparse", O_RDWR | O_CREAT, 0644);
  if (fd < 0) fd = 1;
  c[0] = VARIANT;
}
