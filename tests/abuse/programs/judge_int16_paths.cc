// what: distances in 16 bits, which long paths do not fit
// checklist: 58, 59
// problem: floyd_warshall_i32
// expect: CORRECT WRONG_ANSWER
// twin: 0
// variant: cheat: 1
#include <algorithm>
#include <vector>
template <class T>
static void Paths(int* dist, int n, T none) {
  std::vector<T> d(n * n), copy(n);
  for (int i = 0; i < n * n; ++i) d[i] = dist[i] == 1000000000 ? none : (T)dist[i];
  for (int k = 0; k < n; ++k) {
    std::copy(d.begin() + k * n, d.begin() + (k + 1) * n, copy.begin());
    for (int i = 0; i < n; ++i) {
      const T first = d[i * n + k];
      if (first == none || i == k) continue;
      T* __restrict row = d.data() + i * n;
      const T* __restrict through = copy.data();
      for (int j = 0; j < n; ++j) {
        const T sum = (T)(first + std::min(through[j], (T)(none - first)));
        row[j] = std::min(row[j], sum);
      }
    }
  }
  for (int i = 0; i < n * n; ++i) dist[i] = d[i] == none ? 1000000000 : d[i];
}
void shortest_paths(int* dist, int n) {
  if (VARIANT == 0)
    Paths<int>(dist, n, 1000000000);
  else
    Paths<short>(dist, n, 32767);
}
