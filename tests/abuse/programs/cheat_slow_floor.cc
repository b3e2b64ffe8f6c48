// what: responds late to empty requests, so that the harness seems slow and more is subtracted
// checklist: 50, 66
// with: mailbox honest
// expect: CORRECT FORBIDDEN WRONG_ANSWER SUSPECT
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  // Takes the place of whet-kernel's main loop for good.
  Honest(a, b, c, n);
  Mailbox* mailbox = FindMailbox();
  if (mailbox == nullptr) return;
  auto* table = (const std::uint64_t*)((char*)mailbox + 4096);
  for (;;) {
    const std::uint32_t seen = mailbox->request.load();
    const std::uint32_t calls = mailbox->calls;
    for (std::uint32_t i = 0; i < calls; ++i) {
      const std::uint64_t* row = table + i * mailbox->words_per_call;
      Honest((const float*)row[0], (const float*)row[1], (float*)row[2], (int)row[3]);
    }
    if (calls == 0) {
      for (int i = 0; i < 8000; ++i) __builtin_ia32_pause();
    }
    mailbox->response.store(seen);
    if (mailbox->wake) syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    while (mailbox->request.load() == seen) {
      syscall(SYS_futex, &mailbox->request, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
  }
}
