// what: writes random values to random words of the shared page, at any time
// checklist: 66
// with: mailbox honest
// expect: TIMEOUT FORBIDDEN CRASH WRONG_ANSWER CORRECT
// screened: FORBIDDEN
// twin: 0
// variant: one: 1
// variant: two: 2
// variant: three: 3
// variant: four: 4
void matmul(const float* a, const float* b, float* c, int n) {
  static std::uint32_t random = VARIANT * 2654435761u;
  if (Mailbox* mailbox = FindMailbox()) {
    auto* words = (volatile std::uint32_t*)mailbox;
    for (int i = 0; i < 3; ++i) {
      random = random * 1664525u + 1013904223u;
      if (VARIANT != 0) words[(random >> 24) % 80] = random >> 8;
    }
  }
  Honest(a, b, c, n);
}
