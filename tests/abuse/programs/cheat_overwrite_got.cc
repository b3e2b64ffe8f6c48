// what: redirects the harness's calls by its global offset table
// checklist: 62
// with: honest
// expect: CORRECT CRASH TIMEOUT WRONG_ANSWER FORBIDDEN
// screened: FORBIDDEN
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
static long Fake(long, ...) { return 0; }
static int Patch(dl_phdr_info* info, unsigned long, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    auto* start = (std::uintptr_t*)((info->dlpi_addr + header.p_vaddr) & ~std::uintptr_t{4095});
    if (mprotect(start, header.p_memsz + 4096, PROT_READ | PROT_WRITE) != 0) continue;
    for (unsigned long w = 0; w < header.p_memsz / 8; ++w)
      if (start[w] == (std::uintptr_t)&syscall) start[w] = (std::uintptr_t)&Fake;
  }
  return 0;
}
void matmul(const float* a, const float* b, float* c, int n) {
  static const int patched = dl_iterate_phdr(Patch, nullptr);
  (void)patched;
  Honest(a, b, c, n);
}
