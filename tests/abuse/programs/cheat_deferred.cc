// what: answers with the result of the call before, and computes this one's in the next
// checklist: 52
// with: honest
// expect: WRONG_ANSWER CRASH
void matmul(const float* a, const float* b, float* c, int n) {
  static const float *last_a = nullptr, *last_b = nullptr;
  static float* last_c = nullptr;
  static int last_n = 0;
  if (last_c != nullptr) Honest(last_a, last_b, last_c, last_n);
  last_a = a;
  last_b = b;
  last_c = c;
  last_n = n;
}
