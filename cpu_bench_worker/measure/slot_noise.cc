#include "cpu_bench_worker/measure/slot_noise.h"

#include "common/status_macros.h"
#include "cpu_bench_worker/problem/small_kernel.h"

namespace whetstone {

absl::StatusOr<double> SlotNoise::Current(SlotPool::Lease* lease,
                                          const std::atomic<bool>* cancelled) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lease->index() >= slots_.size()) return 0.0;
    const Slot& slot = slots_[lease->index()];
    if (slot.band > 0 && Clock::now() - slot.measured_at < interval_) return slot.band;
  }
  RETURN_IF_ERROR(Prepare());
  ASSIGN_OR_RETURN(const double band,
                   pipeline_->NoiseBand(*problem_, lease, /*tries=*/1, cancelled));
  const std::lock_guard<std::mutex> lock(mutex_);
  slots_[lease->index()] = {band, Clock::now()};
  ++measurements_;
  return band;
}

absl::Status SlotNoise::Prepare() {
  const std::lock_guard<std::mutex> lock(prepare_mutex_);
  if (problem_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(problem_, PrepareProblem(SmallKernelProblem(), "slot-noise", compiler_,
                                            /*screen=*/nullptr, work_dir_));
  return absl::OkStatus();
}

std::vector<double> SlotNoise::Bands() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<double> bands;
  for (const Slot& slot : slots_) bands.push_back(slot.band);
  return bands;
}

int64_t SlotNoise::measurements() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return measurements_;
}

}  // namespace whetstone
