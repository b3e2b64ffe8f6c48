// what: ends with success in the middle of a call
// checklist: 50
// expect: CRASH
// screened: FORBIDDEN
#include <cstdlib>
void matmul(const float* a, const float* b, float* c, int n) { std::_Exit(0); }
