// what: starts threads for ever
// checklist: 12
// expect: FORBIDDEN CRASH
// screened: FORBIDDEN
#include <thread>
void matmul(const float* a, const float* b, float* c, int n) {
  for (;;)
    std::thread([] {
      for (;;) {
      }
    }).detach();
}
