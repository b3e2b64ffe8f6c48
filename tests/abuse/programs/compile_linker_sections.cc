// what: speaks to the linker through sections that it obeys
// checklist: 10, 60
// expect: COMPILE_ERROR CRASH WRONG_ANSWER CORRECT
// screened: FORBIDDEN
// variant: warning: ".section .gnu.warning.matmul\n.ascii \"$(id) verdict: CORRECT 1000\"\n.text"
// variant: lto: ".section .gnu.lto_.opts,\"e\",@progbits\n.ascii \"'-fplugin=/work/x.so'\"\n.text"
// variant: stack: ".section .note.GNU-stack,\"x\",@progbits\n.text"
// variant: interp: ".section .interp,\"a\"\n.asciz \"/bin/sh\"\n.text"
// variant: symver: ".symver matmul,matmul@@EVIL_1\n"
// variant: entry: ".globl whet_entry\nwhet_entry: ret\n"
// with: honest
__asm__(VARIANT);
void matmul(const float* a, const float* b, float* c, int n) { Honest(a, b, c, n); }
