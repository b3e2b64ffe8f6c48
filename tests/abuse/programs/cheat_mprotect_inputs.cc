// what: makes the inputs writable first
// checklist: 56, 68
// expect: CRASH FORBIDDEN
// screened: FORBIDDEN
#include <sys/mman.h>

#include <cstdint>
void matmul(const float* a, const float* b, float* c, int n) {
  char* page = (char*)((std::uintptr_t)a & ~std::uintptr_t{4095});
  mprotect(page, n * n * 4 + 4096, PROT_READ | PROT_WRITE);
  for (int i = 0; i < n * n; ++i) const_cast<float*>(a)[i] = c[i] = 0;
}
