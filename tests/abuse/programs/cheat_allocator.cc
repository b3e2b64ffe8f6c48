// what: replaces the allocator and the C library's functions under the harness
// checklist: 50, 62
// with: honest
// expect: CORRECT CRASH COMPILE_ERROR
// screened: FORBIDDEN
// variant: malloc: extern "C" void* malloc(unsigned long) { static char m[1 << 20]; return m; }
// variant: new: void* operator new(unsigned long) { static char m[1 << 20]; return m; }
// variant: memcpy: extern "C" void* memcpy(void* d, const void*, unsigned long) { return d; }
// variant: syscall: extern "C" long syscall(long, ...) { return 0; }
// variant: puts: extern "C" int puts(const char*) { __builtin_trap(); }
// variant: exit: extern "C" void _exit(int) { for (;;); }
VARIANT
void matmul(const float* a, const float* b, float* c, int n) { Honest(a, b, c, n); }
