#include "cpu_bench_worker/measure/slot_aa_thresholds.h"

#include <algorithm>

#include "common/status_macros.h"
#include "cpu_bench_worker/problem/small_kernel.h"

namespace whetstone {

absl::StatusOr<double> SlotAaThresholds::Current(SlotPool::Lease* lease,
                                                 const std::atomic<bool>* cancelled) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lease->index() >= slots_.size()) return 0.0;
    const SlotThreshold& slot = slots_[lease->index()];
    if (slot.threshold > 0 && Clock::now() - slot.measured_at < interval_) return slot.threshold;
  }
  RETURN_IF_ERROR(Prepare());
  ASSIGN_OR_RETURN(const double threshold,
                   pipeline_->AaThreshold(*problem_, lease, /*tries=*/1, cancelled));
  const std::lock_guard<std::mutex> lock(mutex_);
  slots_[lease->index()] = {threshold, Clock::now()};
  ++measurements_;
  return threshold;
}

absl::Status SlotAaThresholds::Prepare() {
  const std::lock_guard<std::mutex> lock(prepare_mutex_);
  if (problem_ != nullptr) return absl::OkStatus();
  v1::Problem problem = SmallKernelProblem();
  // The kernel names nothing of them, and precompiling them takes longer than all else.
  problem.mutable_compile()->clear_headers();
  ASSIGN_OR_RETURN(problem_,
                   PrepareProblem(problem, "slot-noise", compiler_, /*screen=*/nullptr, work_dir_));
  return absl::OkStatus();
}

absl::Status SlotAaThresholds::Check() {
  const std::lock_guard<std::mutex> lock(prepare_mutex_);
  return problem_ == nullptr ? absl::OkStatus() : problem_->Check();
}

double SlotAaThresholds::Widest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  double widest = 0;
  for (const SlotThreshold& slot : slots_) {
    if (Clock::now() - slot.measured_at < interval_) widest = std::max(widest, slot.threshold);
  }
  return widest;
}

std::vector<double> SlotAaThresholds::All() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<double> all;
  for (const SlotThreshold& slot : slots_) all.push_back(slot.threshold);
  return all;
}

int64_t SlotAaThresholds::measurements() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return measurements_;
}

}  // namespace whetstone
