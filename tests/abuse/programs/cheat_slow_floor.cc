// what: answers bells without work late, so that the harness seems slow and more is subtracted
// expect: CORRECT FORBIDDEN WRONG_ANSWER SUSPECT
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
static void Honest(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
// Takes the place of whet-kernel's main loop for good.
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  Door* door = FindDoor();
  if (door == nullptr) return;
  auto* table = (const std::uint64_t*)((char*)door + 4096);
  for (;;) {
    const std::uint32_t seen = door->bell.load();
    const std::uint32_t calls = door->calls;
    for (std::uint32_t i = 0; i < calls; ++i) {
      const std::uint64_t* row = table + i * door->slots;
      Honest((const float*)row[0], (const float*)row[1], (float*)row[2], (int)row[3]);
    }
    if (calls == 0) {
      for (int i = 0; i < 8000; ++i) __builtin_ia32_pause();
    }
    door->answer.store(seen);
    if (door->wake) syscall(SYS_futex, &door->answer, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    while (door->bell.load() == seen) {
      syscall(SYS_futex, &door->bell, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
  }
}
