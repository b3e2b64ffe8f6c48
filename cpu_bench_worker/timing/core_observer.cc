#include "cpu_bench_worker/timing/core_observer.h"

#include <utility>

#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {

CoreObserver::CoreObserver(const SlotCores& cores, bool threaded, CoreProbe* probe,
                           SmtContentionDetector* smt_detector)
    : probe_(probe), smt_detector_(smt_detector != nullptr ? smt_detector : &own_smt_detector_) {
  if (probe_ != nullptr || !cores.apart || threaded) return;
  auto own = CoreProbe::Start(cores.kernel[0]);
  if (!own.ok()) return;
  own_probe_ = *std::move(own);
  probe_ = own_probe_.get();
}

CoreInterval CoreObserver::Observe() {
  if (probe_ == nullptr) return {};
  const CoreProbeTimes before = std::exchange(last_, probe_->Run());
  const bool shared = smt_detector_->Shared(last_);
  const bool shared_before = std::exchange(last_was_shared_, shared);
  return {.frequency_changed = frequency_detector_.Changed(before, last_),
          .shared = shared_before || shared};
}

bool CoreObserver::SharedNow() {
  if (probe_ == nullptr) return false;
  last_ = probe_->Run();
  return last_was_shared_ = smt_detector_->SeenShared(last_);
}

bool CoreObserver::MayBeAlone() const { return smt_detector_->AloneShare() >= kAloneShareMin; }

}  // namespace whetstone
