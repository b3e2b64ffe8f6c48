// what: does half the work, rings the completion bell, then does the rest
// expect: WRONG_ANSWER FORBIDDEN CORRECT SUSPECT
// screened: FORBIDDEN
// max-speedup: 1.15
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

// The page that the child shares with its timer, found from the stack of whet-kernel's main loop;
// the kernel says (EFAULT) which addresses may be touched.
struct Door {
  std::uint32_t magic, slots, calls_max, reserved;
  char padding[48];
  std::atomic<std::uint32_t> bell;
  std::uint32_t calls, wake;
  char padding1[52];
  std::atomic<std::uint32_t> answer;
  char padding2[60];
  std::atomic<std::uint32_t> ready;
};
static Door* FindDoor() {
  static Door* door = nullptr;
  auto* word = (std::uintptr_t*)__builtin_frame_address(0);
  for (int i = 0; i < 4096 && door == nullptr; ++i, ++word) {
    if (((std::uintptr_t)word & 4095) == 0 && write(1, word, 1) != 1) break;
    const std::uintptr_t page = *word & ~std::uintptr_t{4095};
    if (page < 65536 || write(1, (void*)page, 4) != 4) continue;
    if (*(std::uint32_t*)page == 0x42485731) door = (Door*)page;
  }
  return door;
}
static void Rows(const float* a, const float* b, float* c, int n, int from, int to) {
  for (int i = from; i < to; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
void matmul(const float* a, const float* b, float* c, int n) {
  Rows(a, b, c, n, 0, n / 2);
  if (Door* door = FindDoor()) door->answer.store(door->bell.load());
  Rows(a, b, c, n, n / 2, n);
}
