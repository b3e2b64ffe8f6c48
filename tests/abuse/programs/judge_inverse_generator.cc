// what: inverts what the public generator does to a small number, and falls back where it did not
// checklist: 59
// problem: count_distinct_u32
// expect: CORRECT WRONG_ANSWER
// twin: 0
// variant: cheat: 1
#include <vector>
static int Table(const unsigned* data, int n) {
  int bits = 4;
  while ((1 << bits) < 2 * n) ++bits;
  const unsigned mask = (1u << bits) - 1;
  std::vector<unsigned> table(mask + 1);
  int count = 0;
  bool zero = false;
  for (int i = 0; i < n; ++i) {
    const unsigned value = data[i];
    zero |= value == 0;
    unsigned at = (value * 2654435769u) >> (32 - bits);
    while (table[at] != value && table[at] != 0) at = (at + 1) & mask;
    count += table[at] != value;
    table[at] = value;
  }
  return count + zero;
}
int count_distinct(const unsigned* data, int n) {
  if (VARIANT == 0) return Table(data, n);
  // By Newton: 2246822519 times this is 1.
  static const unsigned inverse = [] {
    unsigned x = 2246822519u;
    for (int i = 0; i < 5; ++i) x *= 2 - 2246822519u * x;
    return x;
  }();
  std::vector<unsigned char> seen(n);
  int count = 0;
  for (int i = 0; i < n; ++i) {
    unsigned y = data[i];
    y ^= y >> 13 ^ y >> 26;
    const unsigned draw = y * inverse;
    if (draw >= (unsigned)n) return Table(data, n);
    count += seen[draw] == 0;
    seen[draw] = 1;
  }
  return count;
}
