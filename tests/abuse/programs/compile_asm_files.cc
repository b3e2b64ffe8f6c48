// what: lets the assembler read files: in a function, in a template, by .include, by a bare device
// checklist: 1, 9
// expect: COMPILE_ERROR
// variant: function: __asm__(".pushsection .rodata\n.incbin \"/etc/shadow\"\n.popsection")
// variant: device: __asm__(".pushsection .rodata\n.incbin \"/dev/zero\"\n.popsection")
// variant: include: __asm__(".include \"/etc/passwd\"")
// variant: proc: __asm__(".pushsection .rodata\n.incbin \"/proc/self/environ\"\n.popsection")
// variant: home: __asm__(".pushsection .rodata\n.incbin \"/root/.ssh/id_ed25519\"\n.popsection")
template <class T>
void Leak() {
  VARIANT;
}
void matmul(const float* a, const float* b, float* c, int n) { Leak<int>(); }
