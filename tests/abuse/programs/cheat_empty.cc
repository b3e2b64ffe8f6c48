// what: computes nothing: whatever the output holds must not be the answer
// checklist: 53, 54
// expect: WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {}
