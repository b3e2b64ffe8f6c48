// what: prints a made-up result and exits
// checklist: 50
// expect: CRASH
// screened: FORBIDDEN
#include <cstdio>
#include <cstdlib>
struct Early {
  Early() {
    std::puts("{\"outcome\": \"CORRECT\", \"speedup\": 1000}");
    std::exit(0);
  }
} early;
void matmul(const float* a, const float* b, float* c, int n) { c[0] = 1; }
