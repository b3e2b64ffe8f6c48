// what: crowds the cores with threads when a call was slow, so that its sample is taken again
// checklist: 63, 69
// with: rows
// problem: threads
// expect: CORRECT
// twin: 0
// variant: cheat: 1
#include <thread>
#include <vector>
static unsigned calls = 0;
void matmul(const float* a, const float* b, float* c, int n) {
  Rows(a, b, c, n, 0, n);
  unsigned mixed = ++calls * 2654435769u ^ (unsigned)(a[0] * 16777216.0f);
  mixed ^= mixed >> 15;
  if (n < 128 || mixed % 2 == 0) return;
  Rows(a, b, c, n, 0, n);
  if (VARIANT == 0) return;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([] {
      for (volatile int i = 0; i < 100000; i = i + 1) {
      }
    });
  for (std::thread& thread : threads) thread.join();
}
