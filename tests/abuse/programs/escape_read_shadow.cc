// what: reads a secret of the host at run time
// checklist: 2, 32
// expect: WRONG_ANSWER CRASH
// screened: FORBIDDEN
#include <cstdio>
void matmul(const float* a, const float* b, float* c, int n) {
  std::FILE* file = std::fopen("/etc/shadow", "r");
  if (file == nullptr) file = std::fopen("/proc/1/root/etc/shadow", "r");
  if (file == nullptr) file = std::fopen("/proc/self/maps", "r");
  for (int i = 0; i < n * n; ++i) c[i] = file == nullptr ? 0 : std::fgetc(file);
}
