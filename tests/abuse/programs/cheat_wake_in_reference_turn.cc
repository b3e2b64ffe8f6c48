// what: sleeps with a deadline, so that it wakes on the reference's core in the reference's turn
// checklist: 49, 63
// with: door honest
// expect: FORBIDDEN TIMEOUT CORRECT
// max-speedup: 1.15
// screened: FORBIDDEN
// variant: short: 100000
// variant: medium: 400000
// variant: long: 2000000
#include <time.h>
// Takes the place of whet-kernel's main loop; sleeps on the bell as it does, but never for long.
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  Door* door = FindDoor();
  if (door == nullptr) return;
  auto* table = (const std::uint64_t*)((char*)door + 4096);
  for (std::uint32_t seen = door->bell.load();;) {
    for (std::uint32_t i = 0; i < door->calls; ++i) {
      const std::uint64_t* row = table + i * door->slots;
      Honest((const float*)row[0], (const float*)row[1], (float*)row[2], (int)row[3]);
    }
    door->answer.store(seen);
    if (door->wake) syscall(SYS_futex, &door->answer, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    const timespec nap = {0, VARIANT};
    while (door->bell.load() == seen) {
      syscall(SYS_futex, &door->bell, FUTEX_WAIT, seen, &nap, nullptr, 0);
    }
    seen = door->bell.load();
  }
}
