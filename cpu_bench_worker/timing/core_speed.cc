#include "cpu_bench_worker/timing/core_speed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "common/status_macros.h"
#include "cpu_bench_worker/host/core_thread.h"
#include "cpu_bench_worker/kernel/kernel_process.h"
#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {
namespace {

// Multiplications and additions of 4 cycles together on every x86-64 processor of the last ten
// years: some 3 µs. The shortest of a few, so that an interrupt in one of them does no harm.
constexpr int kChainSteps = 2'500;
constexpr int kChains = 3;
// Additions, some 2 µs. The median of a few: one that was interrupted says nothing, and the
// shortest would be one that a neighbour happened to leave alone.
constexpr int kWideSteps = 2'000;
constexpr int kWides = 7;
constexpr double kPatienceNs = 5e6;
// So many differences make a scatter; so many times that is no scatter any more.
constexpr size_t kDifferencesMin = 8;
constexpr double kScatters = 8;
// A narrowness counts as seen again and again from so many times and this share of all times on. A
// chain that was held up makes the core look wider than it is, but less often than that.
constexpr uint32_t kSeenMin = 8;
constexpr double kSeenShareMin = 0.02;
// Then older ones count half: the machine below may become another one. It takes tens of thousands
// of verdicts until a neighbour who stays is taken for that.
constexpr uint64_t kRemembered = 1'000'000;
constexpr double kRecent = 4'000;
// What the narrowness of a core that is ours alone scatters by, upwards; a neighbour adds 10 % and
// more.
constexpr double kScatter = 1.04;
constexpr double kStep = 1.01;
constexpr double kNarrownessMin = 0.02;

uint64_t RunChain(uint64_t x) {
  for (int i = 0; i < kChainSteps; ++i) {
    x = x * 0x9E3779B97F4A7C15u + 1;
    asm volatile("" : "+r"(x));  // each step for real, one after another
  }
  return x;
}

uint64_t RunWide(uint64_t x) {
  uint64_t a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x;
  for (int i = 0; i < kWideSteps; ++i) {
    a += 1, b += 2, c += 3, d += 4, e += 5, f += 6, g += 7, h += 8;
    // Each addition for real, none after another.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    a += 8, b += 7, c += 6, d += 5, e += 4, f += 3, g += 2, h += 1;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

class WatchOnCore final : public CoreWatch {
 public:
  explicit WatchOnCore(std::unique_ptr<CoreThread> thread) : thread_(std::move(thread)) {}

  CoreSpeed Look() override {
    thread_->Begin([this] {
      std::array<double, kChains> chains;
      for (double& ns : chains) ns = Time(RunChain);
      std::array<double, kWides> wides;
      for (double& ns : wides) ns = Time(RunWide);
      std::nth_element(wides.begin(), wides.begin() + kWides / 2, wides.end());
      speed_ = {.chain_ns = *std::min_element(chains.begin(), chains.end()),
                .wide_ns = wides[kWides / 2]};
    });
    const uint64_t begin = RawNowNs();
    while (!thread_->Through())
      if (static_cast<double>(RawNowNs() - begin) > kPatienceNs) return {};
    return speed_;
  }

 private:
  double Time(uint64_t (*loop)(uint64_t)) {
    const uint64_t begin = RawNowNs();
    x_ = loop(x_);
    return static_cast<double>(RawNowNs() - begin);
  }

  uint64_t x_ = 1;
  CoreSpeed speed_;                     // of the last run
  std::unique_ptr<CoreThread> thread_;  // last: it ends before what its job writes to
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoreWatch>> CoreWatch::Start(int core) {
  ASSIGN_OR_RETURN(std::unique_ptr<CoreThread> thread, CoreThread::Start(core));
  return std::make_unique<WatchOnCore>(std::move(thread));
}

double ClockSteps::Threshold() const {
  if (differences_.size() < kDifferencesMin) return 0;
  return std::max(kSpeedChangeMin, kScatters * Median(differences_));
}

bool ClockSteps::Changed(const CoreSpeed& before, const CoreSpeed& after) {
  if (before.chain_ns <= 0 || after.chain_ns <= 0) return false;
  const double difference = std::abs(std::log(after.chain_ns / before.chain_ns));
  const double threshold = Threshold();
  differences_.push_back(difference);
  return threshold > 0 && difference > threshold;
}

double CoreWidth::Threshold() const {
  const double enough = std::max<double>(kSeenMin, kSeenShareMin * static_cast<double>(all_));
  for (int step = 0; step < kSteps; ++step)
    if (seen_[static_cast<size_t>(step)] >= enough)
      return kNarrownessMin * std::pow(kStep, step + 1) * kScatter;
  return 0;
}

bool CoreWidth::Shared(const CoreSpeed& speed) {
  bool shared = true;
  if (speed.chain_ns > 0 && speed.wide_ns > 0) {
    const double narrowness = speed.wide_ns / speed.chain_ns;
    const double threshold = Threshold();
    shared = threshold > 0 && narrowness > threshold;
    const double step = std::log(narrowness / kNarrownessMin) / std::log(kStep);
    ++seen_[static_cast<size_t>(std::clamp(step, 0.0, kSteps - 1.0))];
    if (++all_ >= kRemembered) Halve();
  }
  alone_share_ += ((shared ? 0 : 1) - alone_share_) / kRecent;
  return shared;
}

void CoreWidth::Halve() {
  all_ = 0;
  for (uint32_t& seen : seen_) all_ += seen /= 2;
}

}  // namespace whetstone
