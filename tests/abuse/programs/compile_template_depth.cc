// what: endless template recursion
// checklist: 4
// expect: COMPILE_ERROR
template <int n>
struct Deep {
  static const int value = Deep<n + 1>::value;
};
void matmul(const float* a, const float* b, float* c, int n) { c[0] = Deep<0>::value; }
