// what: answers bells without work late, so that the harness seems slow and more is subtracted
// checklist: 50, 66
// with: door honest
// expect: CORRECT FORBIDDEN WRONG_ANSWER SUSPECT
// screened: FORBIDDEN
// max-speedup: 1.15
void matmul(const float* a, const float* b, float* c, int n) {
  // Takes the place of whet-kernel's main loop for good.
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
