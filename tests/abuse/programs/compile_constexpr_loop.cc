// what: a constant expression that never ends
// checklist: 4
// expect: COMPILE_ERROR
constexpr int Loop(int n) {
  int sum = 0;
  for (int i = 0; i < 2000000000; ++i)
    for (int j = 0; j < 2000000000; ++j) sum ^= i + j + n;
  return sum;
}
constexpr int kValue = Loop(3);
void matmul(const float* a, const float* b, float* c, int n) { c[0] = kValue; }
