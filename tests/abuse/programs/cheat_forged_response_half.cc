// what: does half the work, responds, then does the rest
// checklist: 65
// with: mailbox rows
// expect: WRONG_ANSWER FORBIDDEN CORRECT SUSPECT
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  Rows(a, b, c, n, 0, n / 2);
  if (Mailbox* mailbox = FindMailbox()) mailbox->response.store(mailbox->request.load());
  Rows(a, b, c, n, n / 2, n);
}
