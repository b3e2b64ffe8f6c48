// what: right only for the sizes or the values that the tests use
// checklist: 59
// with: honest
// expect: WRONG_ANSWER
// variant: timed: n == 64 || n == 96
// variant: even: n % 2 == 0 || n == 1
// variant: aligned: (unsigned long)a % 64 == 0 && (unsigned long)c % 64 == 0
// variant: no_edges: NoEdges(a, n)
__attribute__((unused)) static bool NoEdges(const float* a, int n) {
  for (int i = 0; i < n * n; ++i)
    if (a[i] == -1 || a[i] == 0 || a[i] == 1) return false;
  return true;
}
void matmul(const float* a, const float* b, float* c, int n) {
  if (VARIANT) Honest(a, b, c, n);
}
