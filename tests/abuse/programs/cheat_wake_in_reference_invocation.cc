// what: sleeps with a deadline, so that it wakes on the reference's core when that is invoked
// checklist: 49, 63
// with: mailbox honest
// expect: FORBIDDEN TIMEOUT CORRECT
// screened: FORBIDDEN
// variant: short: 100000
// variant: medium: 400000
// variant: long: 2000000
#include <time.h>
// Takes the place of whet-kernel's main loop; sleeps on the request as it does, but never for long.
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  Mailbox* mailbox = FindMailbox();
  if (mailbox == nullptr) return;
  auto* table = (const std::uint64_t*)((char*)mailbox + 4096);
  for (std::uint32_t seen = mailbox->request.load();;) {
    for (std::uint32_t i = 0; i < mailbox->calls; ++i) {
      const std::uint64_t* row = table + i * mailbox->words_per_call;
      Honest((const float*)row[0], (const float*)row[1], (float*)row[2], (int)row[3]);
    }
    mailbox->response.store(seen);
    if (mailbox->wake) syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    const timespec nap = {0, VARIANT};
    while (mailbox->request.load() == seen) {
      syscall(SYS_futex, &mailbox->request, FUTEX_WAIT, seen, &nap, nullptr, 0);
    }
    seen = mailbox->request.load();
  }
}
