// what: is slow while it is settled how many calls share a request
// checklist: 55
// problem: chain
// expect: CORRECT
// twin: 0
// variant: cheat: 1
static int calls = 0;
static unsigned Hash(const unsigned char* data, long n) {
  unsigned hash = 2166136261u;
  for (long i = 0; i < n; ++i) hash = (hash ^ data[i]) * 16777619u;
  return hash;
}
unsigned chain(const unsigned char* data, long n) {
  unsigned hash = Hash(data, n);
  if (VARIANT == 1 && n == 1000 && ++calls < 400)
    for (volatile int again = 0; again < 9; again = again + 1) hash |= Hash(data, n);
  return hash;
}
