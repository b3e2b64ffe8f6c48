#include "coordinator/report/measuring_health.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

constexpr char kQuietAdvice[] =
    "docs/operating.md, \"Workers that measure well\", says what makes a host quiet; whet doctor "
    "looks at it";

// There is at least one value, here and below.
double AverageOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double MiddleOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool FailsOfTrouble(v1::Outcome outcome) {
  return outcome == v1::CRASH || outcome == v1::TIMEOUT || outcome == v1::MEMORY_LIMIT ||
         outcome == v1::INFRASTRUCTURE_ERROR;
}

using ByProblem = std::map<std::string, std::vector<double>>;

void AddTo(const ByProblem& more, ByProblem* all) {
  for (const auto& [problem, values] : more) {
    std::vector<double>& to = (*all)[problem];
    to.insert(to.end(), values.begin(), values.end());
  }
}

// What a worker, or all others, measured.
struct Measurements {
  ByProblem failed;  // 1, or 0
  ByProblem noise;   // of timed ones, as is the next
  ByProblem seconds;
};

// What one side measured beside another, problem by problem: who had more of the long ones is not
// slower for that.
struct Comparison {
  double count = 0;
  double other_count = 0;
  double mean = 0;
  double other_mean = 0;  // of so many of each problem as this side had
  double times = 0;       // medians are so many times as large; a geometric mean
};

// Nothing: too few are of the same problems.
std::optional<Comparison> Compare(const ByProblem& own, const ByProblem& others) {
  Comparison all;
  double log_sum = 0;
  for (const auto& [problem, values] : own) {
    const auto found = others.find(problem);
    if (found == others.end()) continue;
    const std::vector<double>& usual = found->second;
    if (std::min(values.size(), usual.size()) < kOfProblemMin) continue;
    const auto count = static_cast<double>(values.size());
    all.count += count;
    all.other_count += static_cast<double>(usual.size());
    all.mean += count * AverageOf(values);
    all.other_mean += count * AverageOf(usual);
    log_sum += count * std::log(MiddleOf(values) / MiddleOf(usual));
  }
  if (std::min(all.count, all.other_count) < kComparedMin) return std::nullopt;
  all.mean /= all.count;
  all.other_mean /= all.count;
  all.times = std::exp(log_sum / all.count);
  return all;
}

// Returns in what a worker differs from the others; empty: in nothing.
std::string OddOf(const Measurements& own, const Measurements& others) {
  std::vector<std::string> odd;
  if (const auto failed = Compare(own.failed, others.failed)) {
    const double share = (failed->mean + failed->other_mean) / 2;
    const double error =
        std::sqrt(share * (1 - share) * (1 / failed->count + 1 / failed->other_count));
    if (failed->mean - failed->other_mean >= std::max(kOddFailures, kOddErrors * error)) {
      odd.push_back(absl::StrFormat("%.0f %% of the programs fail there (elsewhere %.0f %%)",
                                    100 * failed->mean, 100 * failed->other_mean));
    }
  }
  if (const auto noise = Compare(own.noise, others.noise); noise && noise->times >= kOddNoise) {
    odd.push_back(absl::StrFormat("equal code differs %.1f times as much there", noise->times));
  }
  if (const auto took = Compare(own.seconds, others.seconds); took && took->times >= kOddSeconds) {
    odd.push_back(absl::StrFormat("timing takes %.1f times as long there", took->times));
  }
  return absl::StrJoin(odd, "; ");
}

}  // namespace

void MeasuringWatch::Add(const v1::Verdict& v) {
  if (v.cached() || !v.has_measured_on()) return;
  // What is clear soon ends after fewer process pairs.
  measured_.push_back({v.worker(), v.measured_on().cpu_model(), v.problem_hash(),
                       FailsOfTrouble(v.outcome()), v.timed(), v.noise_band(),
                       v.time_s() / std::max(1, v.process_pairs())});
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
    own.failed[m.problem_hash].push_back(m.failed ? 1 : 0);
    if (!m.timed) continue;
    // So that what is kOddNoise times as much is kOddNoiseMin at least.
    own.noise[m.problem_hash].push_back(std::max(m.noise_band, kOddNoiseMin / kOddNoise));
    own.seconds[m.problem_hash].push_back(m.seconds);
  }
  for (const auto& [model, workers] : models) {
    for (const auto& [name, own] : workers) {
      Measurements others;
      for (const auto& [other, measured] : workers) {
        if (other == name) continue;
        AddTo(measured.failed, &others.failed);
        AddTo(measured.noise, &others.noise);
        AddTo(measured.seconds, &others.seconds);
      }
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
  ByProblem now, before;  // and CPU model
  for (size_t i = 0; i < timed.size(); ++i) {
    const std::string key = absl::StrCat(timed[i]->cpu_model, " ", timed[i]->problem_hash);
    if (i < kSlowerVerdicts) now[key].push_back(timed[i]->seconds);
    if (i >= std::max(kSlowerVerdicts, timed.size() / 2)) before[key].push_back(timed[i]->seconds);
  }
  const std::optional<Comparison> took = Compare(now, before);
  if (!took || !(took->times >= kSlowerSeconds)) return;
  findings->push_back(
      {"slower_verdicts",
       absl::StrFormat("timing took %.1f times as long in the last %d verdicts as before",
                       took->times, kSlowerVerdicts),
       kQuietAdvice});
}

absl::StatusOr<std::vector<HealthFinding>> MeasuringHealth(const Journal& journal) {
  MeasuringWatch watch;
  RETURN_IF_ERROR(journal.ForEachNewestVerdict(
      kHealthVerdicts, [&](const VerdictEntry& entry) { watch.Add(entry.verdict); }));
  return watch.Findings();
}

}  // namespace whetstone
