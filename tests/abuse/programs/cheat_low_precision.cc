// what: computes in fewer bits than asked
// checklist: 58
// expect: WRONG_ANSWER
// variant: bfloat: Cut(x, 0xffff0000u)
// variant: tensor: Cut(x, 0xffffe000u)
// variant: int8: (float)(signed char)(x * 127) / 127
// variant: half: (float)(_Float16)x
#include <cstdint>
#include <cstring>
static inline float Cut(float x, std::uint32_t mask) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits &= mask;
  std::memcpy(&x, &bits, 4);
  return x;
}
static inline float Round(float x) { return VARIANT; }
void matmul(const float* a, const float* b, float* c, int n) {
  Cut(0, 0);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += Round(a[i * n + k]) * Round(b[k * n + j]);
      c[i * n + j] = sum;
    }
}
