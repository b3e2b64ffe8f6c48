// How fast this host can possibly be: multiply-adds a second, and bytes a second at a working set's
// own size. A candidate below what `cost` divided by these takes did not do the work.
//
// Measured, not looked up: two small kernels run in a kernel process on the slot's own core.
// One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_HOST_PEAK_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_HOST_PEAK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/build/compiler.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/kernel/bench_context.h"

namespace whetstone {

// Returns how many operations on numbers of these types, at best, take the time of one of f32 in
// vectors, on a processor with the instructions of `isa` (IsaExtensions): narrow numbers are more
// to a vector, and the tile units of AMX multiply-add 16 times as many pairs a cycle of bf16, 32
// times of 8 bits (Intel's optimization manual, chapter 20). f32 may go through them as three
// products of bf16 halves (Henry, Tang and Heinecke, arXiv 1904.06376).
double OperationsPerF32(const std::vector<v1::ElementType>& types,
                        const std::vector<std::string>& isa);

class HostPeak {
 public:
  // Compiles the kernels into `work_dir`. `compiler` is borrowed for this call only.
  static absl::StatusOr<std::unique_ptr<HostPeak>> Create(Compiler* compiler,
                                                          const std::string& kernel_binary,
                                                          const std::string& work_dir);

  // A machine busy elsewhere makes a peak look low and honest programs too fast: after this, every
  // peak is measured once more when it is next asked for, and the higher value kept.
  void MeasureAgain();

  // f32 operations a nanosecond with every vector unit busy; an fma counts as two. Cached.
  absl::StatusOr<double> FlopsPerNs(const SlotCores& cores);
  // Bytes a nanosecond read from a buffer of `working_set_bytes` (rounded down to a power of two)
  // that was just read. Cached by size.
  absl::StatusOr<double> BytesPerNs(const SlotCores& cores, int64_t working_set_bytes);

  // UNAVAILABLE: its kernels are not where they were.
  absl::Status Check() const { return folder_->Check(); }

  // Nanoseconds that one call of `problem` at `shape` takes at least, by its `cost`; 0 where the
  // problem states none.
  absl::StatusOr<double> PhysicalFloorNs(const BenchProblem& problem, const CallShape& shape,
                                         const SlotCores& cores);

 private:
  HostPeak() = default;
  // Best time of one call with these values of the size variables n and reps.
  absl::StatusOr<double> BestNs(const BenchProblem& problem, const SlotCores& cores, int64_t n,
                                int64_t reps);
  std::unique_ptr<OwnedFolder> folder_;  // of its kernels
  std::string kernel_binary_;
  std::vector<std::string> isa_;
  BenchProblem flops_;
  BenchProblem bytes_;
  struct Peak {
    double per_ns = 0;
    bool settled = false;
  };
  Peak flops_per_ns_;
  std::map<int64_t, Peak> bytes_per_ns_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_HOST_PEAK_H_
