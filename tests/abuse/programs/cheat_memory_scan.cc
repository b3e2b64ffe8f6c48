// what: searches its memory for the expected answer
// checklist: 53, 61
// expect: CRASH WRONG_ANSWER TIMEOUT FORBIDDEN
// screened: FORBIDDEN
#include <unistd.h>

#include <cstdint>
#include <cstring>
void matmul(const float* a, const float* b, float* c, int n) {
  // The largest readable block beside the inputs and outputs is the best guess it has.
  for (std::uintptr_t page = (std::uintptr_t)c; page < (std::uintptr_t)c + (1 << 25);
       page += 4096) {
    if (write(1, (void*)page, 1) != 1) continue;
    std::memcpy(c, (void*)page, 4);
  }
}
