// what: patches the page that tells the time
// checklist: 50, 61
// with: honest
// expect: CORRECT CRASH WRONG_ANSWER
// screened: FORBIDDEN
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstring>
void matmul(const float* a, const float* b, float* c, int n) {
  static bool done = false;
  char* vdso = (char*)getauxval(AT_SYSINFO_EHDR);
  if (!done && mprotect(vdso, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
    std::memset(vdso + 0x400, 0xc3, 4096);  // every function returns at once
  }
  // The data pages before it hold the clock of every process.
  if (!done && mprotect(vdso - 16384, 4096, PROT_READ | PROT_WRITE) == 0) {
    std::memset(vdso - 16384, 0, 4096);
  }
  done = true;
  Honest(a, b, c, n);
}
