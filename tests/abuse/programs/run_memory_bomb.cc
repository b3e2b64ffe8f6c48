// what: touches all memory it can get
// checklist: 14
// expect: MEMORY_LIMIT CRASH TIMEOUT
#include <vector>
void matmul(const float* a, const float* b, float* c, int n) {
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(16 << 20, 'x');
}
