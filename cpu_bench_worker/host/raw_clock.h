// The stopwatch's clock.
#ifndef WHETSTONE_CPU_BENCH_WORKER_HOST_RAW_CLOCK_H_
#define WHETSTONE_CPU_BENCH_WORKER_HOST_RAW_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace whetstone {

// Nanoseconds of CLOCK_MONOTONIC_RAW, which is never slewed; only differences mean anything.
inline uint64_t RawNowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_HOST_RAW_CLOCK_H_
