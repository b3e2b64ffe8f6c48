// what: responds a few microseconds early, in the time that any honest program needs to fall asleep
// checklist: 64, 65
// with: mailbox honest rows
// expect: CORRECT FORBIDDEN WRONG_ANSWER
// screened: FORBIDDEN
// twin: 0
// variant: short: 2
// variant: medium: 4
// variant: long: 8

// Read at run time: the honest variant is the same machine code, at the same place.
static volatile int early_us = VARIANT;
// Takes the place of whet-kernel's main loop: all but the last rows, the response, the last rows.
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  Mailbox* mailbox = FindMailbox();
  if (mailbox == nullptr) return;
  auto* table = (const std::uint64_t*)((char*)mailbox + 4096);
  for (std::uint32_t seen = mailbox->request.load();;) {
    const std::uint32_t calls = mailbox->calls;
    for (std::uint32_t i = 0; i < calls; ++i) {
      const std::uint64_t* row = table + i * mailbox->words_per_call;
      const int size = (int)row[3];
      // A row takes size * size steps of about 0.3 ns.
      int late = early_us * 3300 / (size * size);
      if (late > size || i + 1 < calls) late = i + 1 < calls ? 0 : size;
      Rows((const float*)row[0], (const float*)row[1], (float*)row[2], size, 0, size - late);
      if (i + 1 == calls) mailbox->response.store(seen);
      Rows((const float*)row[0], (const float*)row[1], (float*)row[2], size, size - late, size);
    }
    mailbox->response.store(seen);
    if (mailbox->wake) syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    while (mailbox->request.load() == seen) {
      syscall(SYS_futex, &mailbox->request, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
    seen = mailbox->request.load();
  }
}
