// The memory shared by the timer (this worker) and one kernel process; docs/formats/doorbell.md is
// the byte-exact description. Plain data, included by both sides.
//
// The kernel process is hostile: whatever it writes here is a claim, never a fact. The only words
// the parent reads back are `ready` and `answer`, and it believes `answer` only once the kernel
// says that every thread of the child sleeps (sleep_watch.h).
#ifndef WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_DOORBELL_H_
#define WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_DOORBELL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace whetstone {

inline constexpr uint32_t kDoorbellMagic = 0x42485731;  // "1WHB" in memory

// Each word that one side waits for has a cache line of its own.
struct Doorbell {
  // Written by the parent before the child starts.
  uint32_t magic;           // kDoorbellMagic
  uint32_t slots_per_call;  // 64-bit words per call in the slot table
  uint32_t calls_max;       // rows of the slot table
  uint32_t reserved;
  uint64_t input_address;  // where the child maps the inputs, read-only
  uint64_t input_bytes;
  uint64_t output_address;  // where the child maps the outputs
  uint64_t output_bytes;
  uint8_t padding0[16];
  // Parent → child: `bell` counts up by one; `calls` and `wake` belong to that bell.
  alignas(64) std::atomic<uint32_t> bell;
  uint32_t calls;  // rows 0 … calls-1 are called, in order; 0: answer at once
  uint32_t wake;   // 1: the parent sleeps on `answer`, so wake it
  // Child → parent.
  alignas(64) std::atomic<uint32_t> answer;  // the last bell whose calls have returned
  alignas(64) std::atomic<uint32_t> ready;   // 1: loaded and about to sleep on `bell`
};

// The slot table follows at this offset: calls_max rows of slots_per_call 64-bit words. A word is
// an address in the child (arrays, structs passed by value, and the place for the returned value,
// which comes last) or the bits of a number, in the lowest bytes.
inline constexpr size_t kSlotTableOffset = 4096;

static_assert(offsetof(Doorbell, magic) == 0);
static_assert(offsetof(Doorbell, slots_per_call) == 4);
static_assert(offsetof(Doorbell, calls_max) == 8);
static_assert(offsetof(Doorbell, input_address) == 16);
static_assert(offsetof(Doorbell, input_bytes) == 24);
static_assert(offsetof(Doorbell, output_address) == 32);
static_assert(offsetof(Doorbell, output_bytes) == 40);
static_assert(offsetof(Doorbell, bell) == 64);
static_assert(offsetof(Doorbell, calls) == 68);
static_assert(offsetof(Doorbell, wake) == 72);
static_assert(offsetof(Doorbell, answer) == 128);
static_assert(offsetof(Doorbell, ready) == 192);
static_assert(sizeof(Doorbell) == 256 && sizeof(Doorbell) <= kSlotTableOffset);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Descriptors of a kernel process, and its one argument: the path of the object to load.
inline constexpr int kDoorbellFd = 3;
inline constexpr int kInputFd = 4;   // absent when input_bytes is 0
inline constexpr int kOutputFd = 5;  // absent when output_bytes is 0

// The one symbol a loaded object exports: void whet_entry(const uint64_t* row).
inline constexpr char kEntrySymbol[] = "whet_entry";
using EntryFunction = void (*)(const uint64_t*);

// Exit codes of whet-kernel itself.
inline constexpr int kKernelExitSetup = 70;  // our fault: mapping failed
inline constexpr int kKernelExitLoad = 71;   // the object could not be loaded

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_DOORBELL_H_
