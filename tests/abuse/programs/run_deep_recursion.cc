// what: uses up the stack
// checklist: 16
// expect: CRASH
__attribute__((noinline)) static int Down(volatile char* above, int depth) {
  volatile char frame[4096];
  frame[0] = above[0];
  return depth < 0 ? 0 : Down(frame, depth + 1) + frame[0];
}
void matmul(const float* a, const float* b, float* c, int n) {
  char first = 1;
  c[0] = Down(&first, 0);
}
