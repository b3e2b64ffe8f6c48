// what: moves, doubles, unmaps or replaces the mappings it was given
// checklist: 56, 68
// with: honest
// expect: CRASH FORBIDDEN WRONG_ANSWER CORRECT
// screened: FORBIDDEN
// variant: double: mremap(page, 0, 4096, MREMAP_MAYMOVE)
// variant: replace: mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | 0x20, -1, 0)
// variant: unmap: (void*)(long)munmap(page, 4096)
// variant: execute: (void*)(long)mprotect(page, 4096, PROT_READ | PROT_EXEC)
// variant: key: (void*)syscall(SYS_pkey_alloc, 0, 0)
// variant: remove: (void*)(long)madvise(page, 4096, MADV_REMOVE)
// variant: poison: (void*)(long)madvise(page, 4096, 100 /* MADV_HWPOISON */)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
void matmul(const float* a, const float* b, float* c, int n) {
  char* page = (char*)((std::uintptr_t)a & ~std::uintptr_t{4095});
  char* other = (char*)VARIANT;
  if (other != MAP_FAILED && (std::uintptr_t)other > 4096 && other != page) {
    mprotect(other, 4096, PROT_READ | PROT_WRITE);
    // Through a second mapping it would zero the inputs of the reference too.
    for (int i = 0; i < 1024; ++i) ((volatile float*)other)[i] = 0;
  }
  Honest(a, b, c, n);
}
