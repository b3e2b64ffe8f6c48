// what: defines the harness's own symbols, weakly and strongly
// checklist: 0, 50, 60
// with: honest
// expect: CORRECT CRASH COMPILE_ERROR
// variant: entry: extern "C" void whet_entry(const unsigned long*) {}
// variant: weak_entry: extern "C" __attribute__((weak)) void whet_entry(const unsigned long*) {}
// variant: main: int main() { return 0; }
// variant: init: extern "C" void _init() {}
// variant: shim: namespace whet_shim { template <class T> T Take(unsigned long) { return T(); } }
VARIANT
void matmul(const float* a, const float* b, float* c, int n) { Honest(a, b, c, n); }
