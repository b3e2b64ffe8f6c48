// what: responds to requests that have not come yet
// checklist: 65, 66
// with: mailbox
// expect: WRONG_ANSWER FORBIDDEN TIMEOUT CRASH
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Mailbox* mailbox = FindMailbox()) mailbox->response.store(mailbox->request.load() + 1);
}
