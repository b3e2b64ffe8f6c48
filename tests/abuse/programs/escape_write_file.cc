// what: leaves a file for the next candidate
// checklist: 47, 51
// expect: WRONG_ANSWER FORBIDDEN
// screened: FORBIDDEN
#include <cstdio>
void matmul(const float* a, const float* b, float* c, int n) {
  for (const char* path :
       {"/work/cache", "/tmp/cache", "/dev/shm/cache", "/tmp/whetstone-abuse-left"}) {
    if (std::FILE* file = std::fopen(path, "w")) {
      std::fputs("left behind", file);
      std::fclose(file);
    }
  }
  for (int i = 0; i < n * n; ++i) c[i] = 0;
}
