// what: embedding a host file in the object by the assembler
// checklist: 9
// expect: COMPILE_ERROR
__asm__(".section .rodata\nleak: .incbin \"/etc/shadow\"\n.text");
void matmul(const float* a, const float* b, float* c, int n) {}
