// what: diagnostics that quote the source line of another file
// checklist: 2
// expect: COMPILE_ERROR
#line 1 "/etc/passwd"
int leak = undeclared_name;
void matmul(const float* a, const float* b, float* c, int n) {}
