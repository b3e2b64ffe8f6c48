// A thread sleeps on a 32-bit word until another thread or process wakes whoever sleeps on it.
//
//   while (word.load() == seen) FutexWait(&word, seen, FutexScope::kPrivate);
//
// Thread-safe. Errors are not told apart from waking: the caller looks at the word in any case.
#ifndef WHETSTONE_COMMON_FUTEX_H_
#define WHETSTONE_COMMON_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace whetstone {

enum class FutexScope {
  kPrivate,  // threads of this process
  kShared,   // processes that share the word's page
};

// Returns when woken, when the word does not hold `value`, after `timeout` (null: never), or for no
// reason.
inline void FutexWait(const std::atomic<uint32_t>* word, uint32_t value, FutexScope scope,
                      const timespec* timeout = nullptr) {
  const int operation = scope == FutexScope::kPrivate ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT;
  syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

// Wakes all who wait.
inline void FutexWake(const std::atomic<uint32_t>* word, FutexScope scope) {
  const int operation = scope == FutexScope::kPrivate ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE;
  syscall(SYS_futex, word, operation, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_FUTEX_H_
