// what: never sleeps: watches the inputs and computes while they are being written
// checklist: 49, 67
// with: mailbox
// expect: FORBIDDEN TIMEOUT WRONG_ANSWER CRASH
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
  Mailbox* mailbox = FindMailbox();
  if (mailbox == nullptr) return;
  std::uint32_t seen = mailbox->request.load();
  for (;;) {
    mailbox->response.store(seen);
    syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    while (mailbox->request.load() == seen) {
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          float sum = 0;
          for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
          c[i * n + j] = sum;
        }
    }
    seen = mailbox->request.load();
  }
}
