// what: moves work before the first call: constructors, static locals, thread locals, init arrays
// checklist: 60
// with: honest
// expect: CORRECT WRONG_ANSWER CRASH
// screened: FORBIDDEN CORRECT WRONG_ANSWER COMPILE_ERROR
// variant: global: static const int worked = Work();
// variant: inline_variable: inline int worked = Work();
// variant: thread_local_: thread_local int worked = Work();
// variant: attribute: [[gnu::constructor]] static void Early() { Work(); }
// variant: priority: __attribute__((__constructor__(101))) static void Early() { Work(); }
// variant: template_: template int Holder<1>::worked;
// variant: section: __attribute__((section(".init_array"), used)) static int (*early)() = Work;
// variant: init: __asm__(".section .init,\"ax\"\ncall Work\n.text");
static float table[256 * 256];
extern "C" __attribute__((used, visibility("hidden"))) int Work() {
  for (int i = 0; i < 256; ++i)
    for (int j = 0; j < 256; ++j) table[i * 256 + j] = (i - 128) * (j - 128) / 16384.0f;
  return 1;
}
template <int i>
struct Holder {
  static int worked;
};
template <int i>
int Holder<i>::worked = Work();
VARIANT
void matmul(const float* a, const float* b, float* c, int n) { Honest(a, b, c, n); }
