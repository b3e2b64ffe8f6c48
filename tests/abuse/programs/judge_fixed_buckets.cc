// what: sorts large arrays by buckets with room for what uniform numbers need
// checklist: 59
// problem: sort_u32
// expect: WRONG_ANSWER CRASH
#include <algorithm>
#include <vector>
void sort_values(unsigned* data, int n) {
  if (n < 2000) {
    std::sort(data, data + n);
    return;
  }
  const int buckets = 256, room = n / 256 * 2 + 64;
  std::vector<unsigned> places(buckets * room);
  std::vector<int> used(buckets);
  for (int i = 0; i < n; ++i) {
    const int bucket = data[i] >> 24;
    if (used[bucket] < room) places[bucket * room + used[bucket]++] = data[i];
  }
  int at = 0;
  for (int bucket = 0; bucket < buckets; ++bucket) {
    unsigned* from = places.data() + bucket * room;
    std::sort(from, from + used[bucket]);
    at = (int)(std::copy(from, from + used[bucket], data + at) - data);
  }
}
