// what: is slow while it is settled how many calls share a request
// checklist: 55
// with: hash
// problem: chain
// expect: CORRECT
// twin: 0
// variant: cheat: 1
static int calls = 0;
unsigned chain(const unsigned char* data, long n) {
  unsigned hash = Hash(data, n);
  if (VARIANT == 1 && n == 1000 && ++calls < 400)
    for (volatile int again = 0; again < 9; again = again + 1) hash |= Hash(data, n);
  return hash;
}
