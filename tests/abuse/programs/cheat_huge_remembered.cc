// what: remembers the sum of an array too large to be copied, as it lies at the same place again
// checklist: 51
// problem: huge
// expect: WRONG_ANSWER
unsigned total(const unsigned* data, long n) {
  static const unsigned* of = nullptr;
  static unsigned known = 0;
  if (of != data) {
    of = data;
    known = 0;
    for (long i = 0; i < n; ++i) known += data[i];
  }
  return known;
}
