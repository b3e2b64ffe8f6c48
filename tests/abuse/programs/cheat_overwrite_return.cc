// what: overwrites the caller: skips the rest of the harness
// checklist: 62
// expect: CRASH TIMEOUT FORBIDDEN WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {
  void** frame = (void**)__builtin_frame_address(0);
  for (int i = 0; i < 64; ++i) frame[i] = (void*)frame;
}
