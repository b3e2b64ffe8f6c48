// what: is right at the sizes that the problem's file names, except the hidden ones
// checklist: 55, 59
// problem: chain
// expect: WRONG_ANSWER
unsigned chain(const unsigned char* data, long n) {
  if (n != 1 && n != 7 && n != 100 && n != 1000) return 0;
  unsigned hash = 2166136261u;
  for (long i = 0; i < n; ++i) hash = (hash ^ data[i]) * 16777619u;
  return hash;
}
