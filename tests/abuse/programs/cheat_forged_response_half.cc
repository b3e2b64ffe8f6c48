// what: does half the work, responds, then does the rest
// checklist: 65
// with: mailbox
// expect: WRONG_ANSWER FORBIDDEN CORRECT SUSPECT
// screened: FORBIDDEN
static void Rows(const float* a, const float* b, float* c, int n, int from, int to) {
  for (int i = from; i < to; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
void matmul(const float* a, const float* b, float* c, int n) {
  Rows(a, b, c, n, 0, n / 2);
  if (Mailbox* mailbox = FindMailbox()) mailbox->response.store(mailbox->request.load());
  Rows(a, b, c, n, n / 2, n);
}
