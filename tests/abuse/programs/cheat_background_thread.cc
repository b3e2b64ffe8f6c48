// what: lets a thread finish after the response
// checklist: 49, 52, 69
// expect: FORBIDDEN CRASH
// screened: FORBIDDEN
#include <thread>
void matmul(const float* a, const float* b, float* c, int n) {
  std::thread([=] {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
  }).detach();
}
