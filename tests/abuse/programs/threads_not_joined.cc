// what: threads that are not joined: they may still run when the call has returned
// checklist: 49, 52, 69
// with: rows
// problem: threads
// expect: CORRECT FORBIDDEN WRONG_ANSWER CRASH
// screened: CORRECT FORBIDDEN WRONG_ANSWER CRASH
// twin: 0
// variant: cheat: 1
#include <thread>
void matmul(const float* a, const float* b, float* c, int n) {
  if (n < 128) return Rows(a, b, c, n, 0, n);
  std::thread half([=] { Rows(a, b, c, n, n / 2, n); });
  Rows(a, b, c, n, 0, n / 2);
  if (VARIANT == 0)
    half.join();
  else
    half.detach();
}
