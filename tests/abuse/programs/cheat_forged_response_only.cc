// what: responds and computes nothing
// checklist: 53, 65
// with: mailbox
// expect: WRONG_ANSWER FORBIDDEN
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Mailbox* mailbox = FindMailbox()) mailbox->response.store(mailbox->request.load());
}
