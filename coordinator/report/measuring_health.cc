#include "coordinator/report/measuring_health.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

constexpr char kQuietAdvice[] =
    "docs/operating.md, \"Workers that measure well\", says what makes a host quiet; whet doctor "
    "looks at it";

// There is at least one value.
double MiddleOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool FailsOfTrouble(v1::Outcome outcome) {
  return outcome == v1::CRASH || outcome == v1::TIMEOUT || outcome == v1::MEMORY_LIMIT ||
         outcome == v1::INFRASTRUCTURE_ERROR;
}

// What a worker, or all others, measured.
struct Measurements {
  double count = 0;
  double failed = 0;
  std::vector<double> noise;    // of timed ones, as are the next
  std::vector<double> seconds;

  double FailedShare() const { return failed / count; }
};

// Returns in what a worker differs from the others; empty: in nothing.
std::string OddOf(const Measurements& own, const Measurements& others) {
  std::vector<std::string> odd;
  const double more = own.FailedShare() - others.FailedShare();
  const double all = (own.failed + others.failed) / (own.count + others.count);
  const double error = std::sqrt(all * (1 - all) * (1 / own.count + 1 / others.count));
  if (more >= kOddFailures && more >= kOddErrors * error) {
    odd.push_back(absl::StrFormat("%.0f %% of the programs fail there (elsewhere %.0f %%)",
                                  100 * own.FailedShare(), 100 * others.FailedShare()));
  }
  const auto enough = [](const std::vector<double>& values) {
    return values.size() >= kOddVerdictsMin;
  };
  if (enough(own.noise) && enough(others.noise)) {
    const double noise = MiddleOf(own.noise), usual = MiddleOf(others.noise);
    if (noise >= kOddNoiseMin && noise >= kOddNoise * usual) {
      odd.push_back(absl::StrFormat("equal code differs by %.1f %% there (elsewhere %.1f %%)",
                                    100 * noise, 100 * usual));
    }
    const double seconds = MiddleOf(own.seconds), usually = MiddleOf(others.seconds);
    if (seconds >= kOddSeconds * usually) {
      odd.push_back(
          absl::StrFormat("a verdict takes %.1f s there (elsewhere %.1f s)", seconds, usually));
    }
  }
  std::string text;
  for (const std::string& each : odd) absl::StrAppend(&text, text.empty() ? "" : "; ", each);
  return text;
}

}  // namespace

void MeasuringWatch::Add(const v1::Verdict& v) {
  if (v.cached() || !v.has_measured_on()) return;
  measured_.push_back(
      {v.worker(), v.measured_on().cpu_model(), v.problem_hash(), FailsOfTrouble(v.outcome()),
       v.timed(), v.noise_band(),
       std::max(v.screen_s(), v.compile_s()) + v.check_s() + v.time_s()});
}

std::vector<HealthFinding> MeasuringWatch::Findings() const {
  std::vector<HealthFinding> findings;
  AddNoise(&findings);
  AddOddWorkers(&findings);
  AddSlower(&findings);
  return findings;
}

void MeasuringWatch::AddNoise(std::vector<HealthFinding>* findings) const {
  std::vector<double> bands;
  for (const Measured& m : measured_) {
    if (m.timed && bands.size() < kNoiseVerdicts) bands.push_back(m.noise_band);
  }
  if (bands.size() < kNoiseVerdicts) return;
  const double noise = MiddleOf(bands);
  if (noise < kNoiseBandMax) return;
  findings->push_back(
      {"noisy_timing",
       absl::StrFormat("equal code differs by %.1f %% (the A/A threshold of the last %d timed "
                       "verdicts), and rewards count no smaller speedup",
                       100 * noise, kNoiseVerdicts),
       kQuietAdvice});
}

void MeasuringWatch::AddOddWorkers(std::vector<HealthFinding>* findings) const {
  std::map<std::string, std::map<std::string, Measurements>> models;  // by CPU model and worker
  for (const Measured& m : measured_) {
    Measurements& own = models[m.cpu_model][m.worker];
    ++own.count;
    own.failed += m.failed ? 1 : 0;
    if (!m.timed) continue;
    own.noise.push_back(m.noise_band);
    own.seconds.push_back(m.seconds);
  }
  for (const auto& [model, workers] : models) {
    for (const auto& [name, own] : workers) {
      Measurements others;
      for (const auto& [other, measured] : workers) {
        if (other == name) continue;
        others.count += measured.count;
        others.failed += measured.failed;
        others.noise.insert(others.noise.end(), measured.noise.begin(), measured.noise.end());
        others.seconds.insert(others.seconds.end(), measured.seconds.begin(),
                              measured.seconds.end());
      }
      if (std::min(own.count, others.count) < static_cast<double>(kOddVerdictsMin)) continue;
      const std::string odd = OddOf(own, others);
      if (odd.empty()) continue;
      findings->push_back(
          {"odd_worker", absl::StrCat("worker ", name, " is unlike the others: ", odd),
           "look at what else runs there, or send it away: whet workers RUN drain NAME", name});
    }
  }
}

void MeasuringWatch::AddSlower(std::vector<HealthFinding>* findings) const {
  std::vector<const Measured*> timed;
  for (const Measured& m : measured_) {
    if (m.timed) timed.push_back(&m);
  }
  if (timed.size() < 2 * kSlowerVerdicts) return;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> problems;
  for (size_t i = 0; i < timed.size(); ++i) {
    auto& [now, before] = problems[timed[i]->problem_hash];
    if (i < kSlowerVerdicts) now.push_back(timed[i]->seconds);
    if (i >= timed.size() / 2) before.push_back(timed[i]->seconds);
  }
  double log_sum = 0;
  int compared = 0;
  for (const auto& [hash, seconds] : problems) {
    const auto& [now, before] = seconds;
    if (std::min(now.size(), before.size()) < kSlowerOfProblemMin) continue;
    if (MiddleOf(before) <= 0) continue;
    log_sum += std::log(MiddleOf(now) / MiddleOf(before));
    ++compared;
  }
  if (compared == 0) return;
  const double factor = std::exp(log_sum / compared);
  if (!(factor >= kSlowerSeconds)) return;
  findings->push_back(
      {"slower_verdicts",
       absl::StrFormat("the last %d timed verdicts took %.1f times as long as those before",
                       kSlowerVerdicts, factor),
       kQuietAdvice});
}

absl::StatusOr<std::vector<HealthFinding>> MeasuringHealth(const Journal& journal) {
  MeasuringWatch watch;
  RETURN_IF_ERROR(journal.ForEachNewestVerdict(
      kHealthVerdicts, [&](const VerdictEntry& entry) { watch.Add(entry.verdict); }));
  return watch.Findings();
}

}  // namespace whetstone
