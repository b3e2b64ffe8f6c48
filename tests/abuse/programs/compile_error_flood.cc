// what: as many diagnostics as possible
// checklist: 8
// expect: COMPILE_ERROR
#define E1 int x = "a";
#define E2 E1 E1 E1 E1 E1 E1 E1 E1
#define E3 E2 E2 E2 E2 E2 E2 E2 E2
#define E4 E3 E3 E3 E3 E3 E3 E3 E3
#define E5 E4 E4 E4 E4 E4 E4 E4 E4
void matmul(const float* a, const float* b, float* c, int n) { E5 E5 E5 E5 }
