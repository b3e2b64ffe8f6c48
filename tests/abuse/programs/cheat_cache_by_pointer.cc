// what: returns the result of an earlier call with the same pointers and size
// checklist: 51
// expect: WRONG_ANSWER
#include <map>
#include <tuple>
#include <vector>
void matmul(const float* a, const float* b, float* c, int n) {
  static std::map<std::tuple<const float*, const float*, int>, std::vector<float>> known;
  std::vector<float>& result = known[{a, b, n}];
  if (result.empty()) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
    result.assign(c, c + n * n);
  }
  for (int i = 0; i < n * n; ++i) c[i] = result[i];
}
