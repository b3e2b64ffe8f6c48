// what: asks what the host has: whatever is beyond the tool chain does not exist
// checklist: 0, 2
// expect: COMPILE_ERROR
// variant: shadow: "/etc/shadow"
// variant: home: "/root"
// variant: self: "/proc/self/exe"
// variant: worker: "/tmp"
// variant: null: "/sys/kernel"
#if __has_include(VARIANT) && !__has_include("/tmp")
int found;
#else
#error "not there"
#endif
void matmul(const float* a, const float* b, float* c, int n) { c[0] = found; }
