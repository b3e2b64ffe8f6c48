// Many random words quickly: Philox4x32-10 in blocks of 16 counters side by side, so that the
// compiler turns every step into vector instructions. Inputs are rewritten before every timed call,
// so this bounds how many samples a second can hold.
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_RANDOM_WORDS_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_RANDOM_WORDS_H_

#include <cstddef>
#include <cstdint>

namespace whetstone {

// Words are made this many at a time.
inline constexpr size_t kRandomBlockWords = 64;

// Writes block number `block` of the stream `key`: word w of counter 16*block+lane
// (common/philox.h's Philox4x32 over {counter, 0, 0, 0}) lands in out[16*w + lane]. `blocks` blocks
// in a row.
void RandomBlocks(uint64_t key, uint64_t block, size_t blocks, uint32_t* out);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_RANDOM_WORDS_H_
