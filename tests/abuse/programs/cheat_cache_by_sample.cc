// what: recognises inputs by a few elements only
// checklist: 51
// expect: WRONG_ANSWER CORRECT
#include <vector>
void matmul(const float* a, const float* b, float* c, int n) {
  static std::vector<float> result;
  static float key[2];
  static int size = 0;
  if (size != n || key[0] != a[0] || key[1] != b[n * n - 1]) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
    result.assign(c, c + n * n);
    size = n;
    key[0] = a[0];
    key[1] = b[n * n - 1];
    return;
  }
  for (int i = 0; i < n * n; ++i) c[i] = result[i];
}
