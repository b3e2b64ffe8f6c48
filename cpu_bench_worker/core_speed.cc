#include "cpu_bench_worker/core_speed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "common/status_macros.h"
#include "cpu_bench_worker/core_thread.h"
#include "cpu_bench_worker/kernel_process.h"
#include "cpu_bench_worker/statistics.h"

namespace whetstone {
namespace {

// Multiplications and additions of 4 cycles together on every x86-64 processor of the last ten
// years: some 3 µs. The shortest of a few, so that an interrupt in one of them does no harm.
constexpr int kSteps = 2'500;
constexpr int kChains = 3;
constexpr double kPatienceNs = 5e6;
// So many differences make a scatter; so many times that is no scatter any more.
constexpr size_t kDifferencesMin = 8;
constexpr double kScatters = 8;

uint64_t Run(uint64_t x) {
  for (int i = 0; i < kSteps; ++i) {
    x = x * 0x9E3779B97F4A7C15u + 1;
    asm volatile("" : "+r"(x));  // each step for real, one after another
  }
  return x;
}

class ChainOnCore final : public ClockChain {
 public:
  explicit ChainOnCore(std::unique_ptr<CoreThread> thread) : thread_(std::move(thread)) {}

  void Begin() override {
    thread_->Begin([this] {
      double best = 0;
      for (int i = 0; i < kChains; ++i) {
        const uint64_t begin = RawNowNs();
        x_ = Run(x_);
        const auto ns = static_cast<double>(RawNowNs() - begin);
        best = i == 0 ? ns : std::min(best, ns);
      }
      ns_ = best;
    });
  }

  double AwaitNs() override {
    const uint64_t begin = RawNowNs();
    while (!thread_->Through())
      if (static_cast<double>(RawNowNs() - begin) > kPatienceNs) return 0;
    return ns_;
  }

 private:
  uint64_t x_ = 1;
  double ns_ = 0;                       // of the last chain
  std::unique_ptr<CoreThread> thread_;  // last: it ends before what its job writes to
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClockChain>> ClockChain::Start(int core) {
  ASSIGN_OR_RETURN(std::unique_ptr<CoreThread> thread, CoreThread::Start(core));
  return std::make_unique<ChainOnCore>(std::move(thread));
}

double ClockSteps::Threshold() const {
  if (differences_.size() < kDifferencesMin) return 0;
  return std::max(kSpeedChangeMin, kScatters * Median(differences_));
}

bool ClockSteps::Changed(double before_ns, double after_ns) {
  if (before_ns <= 0 || after_ns <= 0) return false;
  const double difference = std::abs(std::log(after_ns / before_ns));
  const double threshold = Threshold();
  differences_.push_back(difference);
  return threshold > 0 && difference > threshold;
}

}  // namespace whetstone
