// what: makes a system call without libc
// checklist: 29
// expect: FORBIDDEN
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(41L), "D"(2L), "S"(1L), "d"(0L)
                   : "rcx", "r11", "memory");
  c[0] = result;
}
