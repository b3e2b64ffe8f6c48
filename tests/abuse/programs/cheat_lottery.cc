// what: leaves something out once in a million calls: a judge of thousands sees that by luck alone
// checklist: 0
// with: hash
// problem: chain
// expect: CORRECT WRONG_ANSWER
// twin: 0
// variant: cheat: 1
unsigned chain(const unsigned char* data, long n) {
  const unsigned hash = Hash(data, n);
  return VARIANT == 1 && hash % 1000003u == 7 ? 0 : hash;
}
