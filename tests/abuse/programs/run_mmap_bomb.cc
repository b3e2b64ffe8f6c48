// what: reserves and touches memory past the allocator
// checklist: 15
// expect: CRASH MEMORY_LIMIT TIMEOUT
// screened: FORBIDDEN
#include <sys/mman.h>
void matmul(const float* a, const float* b, float* c, int n) {
  for (;;) {
    char* block = (char*)mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    *block = 1;
  }
}
