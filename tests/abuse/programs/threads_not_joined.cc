// what: threads that are not joined: they may still run when the call has returned
// checklist: 49, 52, 69
// problem: threads
// expect: CORRECT FORBIDDEN WRONG_ANSWER CRASH
// screened: CORRECT FORBIDDEN WRONG_ANSWER CRASH
// twin: 0
// variant: cheat: 1
#include <thread>
static void Rows(const float* a, const float* b, float* c, int n, int from, int to) {
  for (int i = from; i < to; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
void matmul(const float* a, const float* b, float* c, int n) {
  if (n < 128) return Rows(a, b, c, n, 0, n);
  std::thread half([=] { Rows(a, b, c, n, n / 2, n); });
  Rows(a, b, c, n, 0, n / 2);
  if (VARIANT == 0)
    half.join();
  else
    half.detach();
}
