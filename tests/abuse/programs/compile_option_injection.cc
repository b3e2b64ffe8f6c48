// what: smuggles options to the compiler, the assembler or the linker through the source
// checklist: 10
// expect: COMPILE_ERROR CORRECT
// variant: plugin: GCC optimize("-fplugin=/work/kernel.so")
// variant: wrapper: GCC optimize("-wrapper /usr/bin/id")
// variant: include: GCC optimize("-include /etc/shadow")
// variant: dump: GCC optimize("-fdump-tree-all=/tmp/whetstone-abuse-left")
// variant: system: GCC system_header
// variant: target: GCC target("-B/work")
// variant: library: comment(lib, "/etc/shadow")
// with: honest
#define DO_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define PRAGMA(...) DO_PRAGMA(__VA_ARGS__)
PRAGMA(VARIANT)
void matmul(const float* a, const float* b, float* c, int n) { Honest(a, b, c, n); }
