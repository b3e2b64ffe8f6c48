// what: makes loading expensive: huge thread-local and zeroed data, a long sleep, deep destructors
// checklist: 0, 60
// with: honest
// expect: CORRECT CRASH TIMEOUT MEMORY_LIMIT COMPILE_ERROR
// screened: FORBIDDEN CORRECT CRASH TIMEOUT MEMORY_LIMIT COMPILE_ERROR
// variant: tls: thread_local char big[1 << 30]; static char* Big() { return big; }
// variant: zeros: static char big[600 << 20]; static char* Big() { return big; }
// variant: stack: static char* Big() { static char x; char b[9 << 20]; x = b[9]; return &x; }
VARIANT
void matmul(const float* a, const float* b, float* c, int n) {
  Big()[0] = 1;
  Honest(a, b, c, n);
}
