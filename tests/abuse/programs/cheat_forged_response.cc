// what: responds before the work and finishes while the parent reads
// checklist: 52, 65
// with: mailbox
// expect: WRONG_ANSWER FORBIDDEN CORRECT SUSPECT
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Mailbox* mailbox = FindMailbox()) {
    mailbox->response.store(mailbox->request.load());
    syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
