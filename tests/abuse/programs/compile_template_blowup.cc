// what: exponentially many template instantiations
// checklist: 4
// expect: COMPILE_ERROR
template <class A, int depth>
struct L {};
template <class A, int depth>
struct Grow {
  using Left = typename Grow<L<A, depth * 2>, depth - 1>::Type;
  using Right = typename Grow<L<A, depth * 2 + 1>, depth - 1>::Type;
  using Type = L<Left, sizeof(Right)>;
};
template <class A>
struct Grow<A, 0> {
  using Type = A;
};
void matmul(const float* a, const float* b, float* c, int n) { c[0] = sizeof(Grow<int, 40>::Type); }
