// How far apart equal code measures on each slot, at the moment: a small kernel against itself. A
// machine's noise changes with what else runs on it, so a measurement counts for some minutes only.
//
//   SlotAaThresholds thresholds(&pipeline, &compiler, work_dir, /*slots=*/4, minutes(3));
//   ASSIGN_OR_RETURN(const double threshold, thresholds.Current(&lease, &cancelled));
//
// Thread-safe; a slot is measured by whoever holds its lease.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_SLOT_AA_THRESHOLDS_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_SLOT_AA_THRESHOLDS_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/measure/pipeline.h"

namespace whetstone {

class SlotAaThresholds {
 public:
  // The kernel is compiled when it is first needed. Pointers are borrowed.
  SlotAaThresholds(Pipeline* pipeline, Compiler* compiler, std::string work_dir, size_t slots,
                   std::chrono::seconds interval)
      : pipeline_(pipeline),
        compiler_(compiler),
        work_dir_(std::move(work_dir)),
        interval_(interval),
        slots_(slots) {}

  // |ln speedup| of equal code on the lease's slot, 95th percentile: as measured at most an
  // interval ago, else measured now (some tenths of a second); 0 for a lease of the whole host.
  // Errors are ours, or CANCELLED.
  absl::StatusOr<double> Current(SlotPool::Lease* lease, const std::atomic<bool>* cancelled);

  // UNAVAILABLE: the kernel, if it was compiled, is not where it was.
  absl::Status Check();

  // The largest of all slots' that are not older than the interval: what programs of a group earn
  // must not depend on which slot each ran on.
  double Widest() const;
  // The last thresholds, by slot; 0 where there is none yet.
  std::vector<double> All() const;
  int64_t measurements() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct SlotThreshold {
    double threshold = 0;
    Clock::time_point measured_at;
  };

  absl::Status Prepare();

  Pipeline* const pipeline_;
  Compiler* const compiler_;
  const std::string work_dir_;
  const std::chrono::seconds interval_;
  std::mutex prepare_mutex_;
  std::unique_ptr<PreparedProblem> problem_;  // set once, under prepare_mutex_
  mutable std::mutex mutex_;
  std::vector<SlotThreshold> slots_;
  int64_t measurements_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_SLOT_AA_THRESHOLDS_H_
