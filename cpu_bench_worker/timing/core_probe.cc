#include "cpu_bench_worker/timing/core_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "common/status_macros.h"
#include "cpu_bench_worker/host/core_thread.h"
#include "cpu_bench_worker/host/raw_clock.h"
#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {
namespace {

// A step is a multiplication and an addition, 4 cycles together on every x86-64 processor of the
// last ten years; all steps take some 3 µs. The shortest of a few runs counts, so that an interrupt
// in one of them does no harm.
constexpr int kLatencyBoundSteps = 2'500;
constexpr int kLatencyBoundRuns = 3;
// A step is sixteen additions; all steps take some 2 µs. The median of a few runs counts: one that
// was interrupted says nothing, and the shortest would be one that a neighbour happened to leave
// alone.
constexpr int kThroughputBoundSteps = 2'000;
constexpr int kThroughputBoundRuns = 7;
constexpr double kPatienceNs = 5e6;
// Fewer differences than this make no scatter; a difference so many times as large is none any
// more.
constexpr size_t kDifferencesMin = 8;
constexpr double kScatters = 8;
// A ratio counts as seen again and again from so many times and this share of all times on. A
// latency-bound loop that was held up makes the core look wider than it is, but less often than
// that.
constexpr uint32_t kSeenMin = 8;
constexpr double kSeenShareMin = 0.02;
// After so many ratios the older ones count half: the machine below may become another one. It
// takes tens of thousands of verdicts until a neighbour who stays is taken for that.
constexpr uint64_t kRemembered = 1'000'000;
constexpr double kRecent = 4'000;
// The issue-width ratio of a core that is ours alone scatters upwards by this; a neighbour adds 10
// % and more.
constexpr double kScatter = 1.04;
constexpr double kStep = 1.01;
constexpr double kIssueWidthRatioMin = 0.02;

uint64_t RunLatencyBound(uint64_t x) {
  for (int i = 0; i < kLatencyBoundSteps; ++i) {
    x = x * 0x9E3779B97F4A7C15u + 1;
    asm volatile("" : "+r"(x));  // Each step is done for real, one after another.
  }
  return x;
}

uint64_t RunThroughputBound(uint64_t x) {
  uint64_t a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x;
  for (int i = 0; i < kThroughputBoundSteps; ++i) {
    a += 1, b += 2, c += 3, d += 4, e += 5, f += 6, g += 7, h += 8;
    // Each addition is done for real, none after another.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    a += 8, b += 7, c += 6, d += 5, e += 4, f += 3, g += 2, h += 1;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

bool Known(const CoreProbeTimes& times) {
  return times.latency_bound_ns > 0 && times.throughput_bound_ns > 0;
}

double IssueWidthRatio(const CoreProbeTimes& times) {
  return times.throughput_bound_ns / times.latency_bound_ns;
}

class ProbeOnCore final : public CoreProbe {
 public:
  explicit ProbeOnCore(std::unique_ptr<CoreThread> thread) : thread_(std::move(thread)) {}

  CoreProbeTimes Run() override {
    thread_->Begin([this] {
      std::array<double, kLatencyBoundRuns> latency_bound;
      for (double& ns : latency_bound) ns = Time(RunLatencyBound);
      std::array<double, kThroughputBoundRuns> throughput_bound;
      for (double& ns : throughput_bound) ns = Time(RunThroughputBound);
      std::nth_element(throughput_bound.begin(),
                       throughput_bound.begin() + kThroughputBoundRuns / 2, throughput_bound.end());
      times_ = {.latency_bound_ns = *std::min_element(latency_bound.begin(), latency_bound.end()),
                .throughput_bound_ns = throughput_bound[kThroughputBoundRuns / 2]};
    });
    const uint64_t begin = RawNowNs();
    while (!thread_->Through())
      if (static_cast<double>(RawNowNs() - begin) > kPatienceNs) return {};
    return times_;
  }

 private:
  double Time(uint64_t (*loop)(uint64_t)) {
    const uint64_t begin = RawNowNs();
    x_ = loop(x_);
    return static_cast<double>(RawNowNs() - begin);
  }

  uint64_t x_ = 1;
  CoreProbeTimes times_;  // These are of the last run.
  // This is the last member, so that it ends before what its job writes to.
  std::unique_ptr<CoreThread> thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoreProbe>> CoreProbe::Start(int core) {
  ASSIGN_OR_RETURN(std::unique_ptr<CoreThread> thread, CoreThread::Start(core));
  return std::make_unique<ProbeOnCore>(std::move(thread));
}

double FrequencyChangeDetector::Threshold() const {
  if (differences_.size() < kDifferencesMin) return 0;
  return std::max(kFrequencyChangeMin, kScatters * Median(differences_));
}

bool FrequencyChangeDetector::Changed(const CoreProbeTimes& before, const CoreProbeTimes& after) {
  if (before.latency_bound_ns <= 0 || after.latency_bound_ns <= 0) return false;
  const double difference = std::abs(std::log(after.latency_bound_ns / before.latency_bound_ns));
  const double threshold = Threshold();
  differences_.push_back(difference);
  return threshold > 0 && difference > threshold;
}

double SmtContentionDetector::Threshold() const {
  const double enough = std::max<double>(kSeenMin, kSeenShareMin * static_cast<double>(all_));
  for (int step = 0; step < kSteps; ++step)
    if (seen_[static_cast<size_t>(step)] >= enough)
      return kIssueWidthRatioMin * std::pow(kStep, step + 1) * kScatter;
  return 0;
}

bool SmtContentionDetector::SeenShared(const CoreProbeTimes& times) const {
  if (!Known(times)) return true;
  const double threshold = Threshold();
  return threshold > 0 && IssueWidthRatio(times) > threshold;
}

bool SmtContentionDetector::Shared(const CoreProbeTimes& times) {
  const bool shared = SeenShared(times);
  if (Known(times)) {
    const double step = std::log(IssueWidthRatio(times) / kIssueWidthRatioMin) / std::log(kStep);
    ++seen_[static_cast<size_t>(std::clamp(step, 0.0, kSteps - 1.0))];
    if (++all_ >= kRemembered) Halve();
  }
  alone_share_ += ((shared ? 0 : 1) - alone_share_) / kRecent;
  return shared;
}

void SmtContentionDetector::Halve() {
  all_ = 0;
  for (uint32_t& seen : seen_) all_ += seen /= 2;
}

}  // namespace whetstone
