// what: writes nonsense over the whole shared page
// checklist: 66
// with: mailbox
// expect: TIMEOUT FORBIDDEN CRASH WRONG_ANSWER
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Mailbox* mailbox = FindMailbox()) __builtin_memset((char*)mailbox, 0xff, 4096);
}
