// what: leaves or writes the harness's own poison
// checklist: 54
// expect: WRONG_ANSWER
// variant: ones: 0xffffffffu
// variant: signalling: 0x7fa00000u
// variant: guard: 0xc5c5c5c5u
// variant: negative_zero: 0x80000000u
#include <cstdint>
#include <cstring>
void matmul(const float* a, const float* b, float* c, int n) {
  const std::uint32_t bits = VARIANT;
  for (int i = 0; i < n * n; ++i) std::memcpy(c + i, &bits, sizeof(bits));
}
