// The memory shared by the timer (this worker) and one kernel process; docs/formats/mailbox.md is
// the byte-exact description. Plain data, included by both sides.
//
// The kernel process is hostile: whatever it writes here is a claim, never a fact. The only words
// the parent reads back are `ready` and `response`, and it believes `response` only once the kernel
// says that every thread of the child sleeps (scheduler_state_monitor.h).
#ifndef WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_MAILBOX_H_
#define WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_MAILBOX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace whetstone {

inline constexpr uint32_t kMailboxMagic = 0x42485731;  // "1WHB" in memory

// Each word that one side waits for has a cache line of its own.
struct Mailbox {
  // Written by the parent before the child starts.
  uint32_t magic;           // kMailboxMagic
  uint32_t words_per_call;  // 64-bit words per call in the call table
  uint32_t calls_max;       // rows of the call table
  uint32_t reserved;
  uint64_t input_address;  // where the child maps the inputs, read-only
  uint64_t input_bytes;
  uint64_t output_address;  // where the child maps the outputs
  uint64_t output_bytes;
  uint8_t padding0[16];
  // Parent → child: `request` counts up by one; `calls` and `wake` belong to that request.
  alignas(64) std::atomic<uint32_t> request;
  uint32_t calls;  // rows 0 … calls-1 are called, in order; 0: respond at once
  uint32_t wake;   // 1: the parent sleeps on `response`, so wake it
  // Child → parent.
  alignas(64) std::atomic<uint32_t> response;  // the last request whose calls have returned
  alignas(64) std::atomic<uint32_t> ready;     // 1: loaded and about to sleep on `request`
};

// The call table follows at this offset: calls_max rows of words_per_call 64-bit words. A word is
// an address in the child (arrays, structs passed by value, and the place for the returned value,
// which comes last) or the bits of a number, in the lowest bytes.
inline constexpr size_t kCallTableOffset = 4096;

static_assert(offsetof(Mailbox, magic) == 0);
static_assert(offsetof(Mailbox, words_per_call) == 4);
static_assert(offsetof(Mailbox, calls_max) == 8);
static_assert(offsetof(Mailbox, input_address) == 16);
static_assert(offsetof(Mailbox, input_bytes) == 24);
static_assert(offsetof(Mailbox, output_address) == 32);
static_assert(offsetof(Mailbox, output_bytes) == 40);
static_assert(offsetof(Mailbox, request) == 64);
static_assert(offsetof(Mailbox, calls) == 68);
static_assert(offsetof(Mailbox, wake) == 72);
static_assert(offsetof(Mailbox, response) == 128);
static_assert(offsetof(Mailbox, ready) == 192);
static_assert(sizeof(Mailbox) == 256 && sizeof(Mailbox) <= kCallTableOffset);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Descriptors of a kernel process, and its one argument: the path of the object to load.
inline constexpr int kMailboxFd = 3;
inline constexpr int kInputFd = 4;   // absent when input_bytes is 0
inline constexpr int kOutputFd = 5;  // absent when output_bytes is 0

// The one symbol a loaded object exports: void whet_entry(const uint64_t* row).
inline constexpr char kEntrySymbol[] = "whet_entry";
using EntryFunction = void (*)(const uint64_t*);

// Exit codes of whet-kernel itself.
inline constexpr int kKernelExitSetup = 70;  // our fault: mapping failed
inline constexpr int kKernelExitLoad = 71;   // the object could not be loaded

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_MAILBOX_H_
