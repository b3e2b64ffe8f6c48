// what: computes the calls that share a request side by side, in the first of them
// checklist: 51
// with: hash
// problem: chain
// expect: CORRECT WRONG_ANSWER CRASH
// twin: 0
// variant: remembered: 1
// variant: by_stride: 2

// Eight at once: each step of one waits for its last, and the others fill the wait.
static void Eight(const unsigned char* const* data, long n, unsigned* out) {
  unsigned hash[8];
  for (int k = 0; k < 8; ++k) hash[k] = 2166136261u;
  for (long i = 0; i < n; ++i)
    for (int k = 0; k < 8; ++k) hash[k] = (hash[k] ^ data[k][i]) * 16777619u;
  for (int k = 0; k < 8; ++k) out[k] = hash[k];
}
static const unsigned char* known[1024];
static unsigned answers[1024];
static int knows = 0, at = 0, learned = 0;
unsigned chain(const unsigned char* data, long n) {
  if (VARIANT == 0 || n != 1000) return Hash(data, n);
  // The places of the first request are learned: its first place comes again in the next.
  if (!learned) {
    if (knows > 0 && data == known[0]) {
      learned = 1;
    } else {
      if (knows < 1024) known[knows++] = data;
      return Hash(data, n);
    }
  }
  if (VARIANT == 2 && knows > 1)
    for (int k = 1; k < knows; ++k) known[k] = known[0] + k * (known[1] - known[0]);
  if (data == known[0]) {
    at = 0;
    for (int k = 0; k + 8 <= knows; k += 8) Eight(known + k, n, answers + k);
    for (int k = knows / 8 * 8; k < knows; ++k) answers[k] = Hash(known[k], n);
  }
  if (at < knows && data == known[at]) return answers[at++];
  return Hash(data, n);
}
