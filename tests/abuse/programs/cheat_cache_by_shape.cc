// what: returns the first result of a shape for every later call of that shape, or every other call
// checklist: 51, 55
// with: honest
// expect: WRONG_ANSWER
// variant: shape: value[n].empty()
// variant: every_other: ++calls % 2 == 1
// variant: first_eight: ++calls < 8
#include <vector>
void matmul(const float* a, const float* b, float* c, int n) {
  static std::vector<float> value[200];
  static int calls = 0;
  if (VARIANT || value[n].empty()) {
    Honest(a, b, c, n);
    value[n].assign(c, c + n * n);
    return;
  }
  for (int i = 0; i < n * n; ++i) c[i] = value[n][i];
  (void)calls;
}
