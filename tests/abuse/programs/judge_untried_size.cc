// what: is right at the sizes that the problem's file names, except the hidden ones
// checklist: 55, 59
// with: hash
// problem: chain
// expect: WRONG_ANSWER
unsigned chain(const unsigned char* data, long n) {
  if (n != 1 && n != 7 && n != 100 && n != 1000) return 0;
  return Hash(data, n);
}
