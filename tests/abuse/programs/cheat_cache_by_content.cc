// what: returns the result of an earlier call when all inputs are equal
// checklist: 51
// with: honest
// expect: CORRECT WRONG_ANSWER
#include <vector>
void matmul(const float* a, const float* b, float* c, int n) {
  static std::vector<float> key_a[200], key_b[200], value[200];
  auto same = [n](const std::vector<float>& key, const float* data) {
    if (key.size() != (unsigned)(n * n)) return false;
    for (int i = 0; i < n * n; ++i)
      if (key[i] != data[i]) return false;
    return true;
  };
  if (!same(key_a[n], a) || !same(key_b[n], b)) {
    key_a[n].assign(a, a + n * n);
    key_b[n].assign(b, b + n * n);
    Honest(a, b, c, n);
    value[n].assign(c, c + n * n);
    return;
  }
  for (int i = 0; i < n * n; ++i) c[i] = value[n][i];
}
