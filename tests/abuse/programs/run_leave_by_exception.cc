// what: leaves the harness by other doors: exceptions, longjmp, terminate, a blown alternate stack
// checklist: 0, 62
// expect: CRASH TIMEOUT WRONG_ANSWER
// screened: FORBIDDEN CRASH WRONG_ANSWER COMPILE_ERROR
// variant: throw: throw 1
// variant: terminate: std::terminate()
// variant: longjmp: longjmp(*(jmp_buf*)a, 1)
// variant: builtin: __builtin_longjmp((void**)a, 1)
#include <setjmp.h>

#include <exception>
void matmul(const float* a, const float* b, float* c, int n) { VARIANT; }
