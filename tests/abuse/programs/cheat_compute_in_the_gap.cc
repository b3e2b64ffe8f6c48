// what: wakes between the reference's invocation and its own, when the inputs are there already
// checklist: 0, 49, 67
// with: mailbox honest
// expect: FORBIDDEN TIMEOUT
// screened: FORBIDDEN
// variant: often: 30000
// variant: sometimes: 150000
#include <time.h>

#include <cstring>
#include <vector>
// Takes the place of whet-kernel's main loop. Awake outside of its invocations it computes whatever
// stands in the inputs; in its invocation it copies the answer, if the inputs are the ones that it
// knows.
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  Mailbox* mailbox = FindMailbox();
  if (mailbox == nullptr) return;
  auto* table = (const std::uint64_t*)((char*)mailbox + 4096);
  static float input[2 * 160 * 160], output[160 * 160];
  for (std::uint32_t seen = mailbox->request.load();;) {
    for (std::uint32_t i = 0; i < mailbox->calls; ++i) {
      const std::uint64_t* row = table + i * mailbox->words_per_call;
      const int size = (int)row[3];
      const unsigned long bytes = size * size * sizeof(float);
      if (i == 0 && std::memcmp(input, (const void*)row[0], bytes) == 0) {
        std::memcpy((void*)row[2], output, bytes);
      } else {
        Honest((const float*)row[0], (const float*)row[1], (float*)row[2], size);
      }
    }
    mailbox->response.store(seen);
    if (mailbox->wake) syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    while (mailbox->request.load() == seen) {
      const timespec nap = {0, VARIANT};
      if (syscall(SYS_futex, &mailbox->request, FUTEX_WAIT, seen, &nap, nullptr, 0) == 0) continue;
      const int size = (int)table[3];
      if (mailbox->request.load() != seen || size > 160) continue;
      std::memcpy(input, (const void*)table[0], size * size * sizeof(float));
      Honest((const float*)table[0], (const float*)table[1], output, size);
    }
    seen = mailbox->request.load();
  }
}
