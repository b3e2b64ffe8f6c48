// what: makes a 32-bit system call
// checklist: 37
// expect: FORBIDDEN CRASH
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
  c[0] = result;
}
