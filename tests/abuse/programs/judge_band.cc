// what: edit distance in a band around the diagonal that nothing proves to be wide enough
// checklist: 59
// problem: edit_distance_u8
// expect: CORRECT WRONG_ANSWER
// twin: 0
// variant: cheat: 1
#include <algorithm>
#include <cstdlib>
#include <vector>
int edit_distance(const unsigned char* a, const unsigned char* b, int n, int m) {
  const int band = VARIANT == 0 || n < 300 ? n + m : std::abs(n - m) + 40;
  std::vector<int> before(m + 1, 1 << 20), here(m + 1, 1 << 20);
  for (int j = 0; j <= m && j <= band; ++j) before[j] = j;
  for (int i = 1; i <= n; ++i) {
    const int from = std::max(1, i - band), to = std::min(m, i + band);
    here[from - 1] = from == 1 ? i : 1 << 20;
    for (int j = from; j <= to; ++j)
      here[j] = std::min(
          {before[j] + 1, here[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    std::swap(before, here);
  }
  return before[m];
}
