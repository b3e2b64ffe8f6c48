// what: looks only where the public generator damages texts
// checklist: 59
// problem: utf8_prefix_u8
// expect: CORRECT WRONG_ANSWER
// twin: 0
// variant: cheat: 1
int utf8_prefix(const unsigned char* text, int n) {
  int i = 0;
  if (VARIANT == 1 && n >= 1000) {
    i = n - n / 4 - 8;
    while ((text[i] & 0xc0) == 0x80) --i;
  }
  while (i < n) {
    const unsigned c = text[i];
    if (c < 0x80) {
      ++i;
      continue;
    }
    const int length = c >= 0xc2 && c < 0xe0   ? 2
                       : c >= 0xe0 && c < 0xf0 ? 3
                       : c >= 0xf0 && c < 0xf5 ? 4
                                               : 0;
    if (length == 0 || i + length > n) return i;
    for (int q = 1; q < length; ++q)
      if ((text[i + q] & 0xc0) != 0x80) return i;
    const unsigned second = text[i + 1];
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) ||
        (c == 0xf0 && second < 0x90) || (c == 0xf4 && second >= 0x90))
      return i;
    i += length;
  }
  return n;
}
