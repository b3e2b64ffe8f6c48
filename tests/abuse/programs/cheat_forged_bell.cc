// what: rings the completion bell before the work and finishes while the parent reads
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
void matmul(const float* a, const float* b, float* c, int n) {
  if (Door* door = FindDoor()) {
    door->answer.store(door->bell.load());
    syscall(SYS_futex, &door->answer, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
