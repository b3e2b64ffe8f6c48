// Estimates and intervals are held to a reference implementation in Python, and intervals to what
// they promise: simulated evaluations, of which as many as they say hold the truth.
#include "coordinator/eval/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/philox.h"
#include "common/tree_testing.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr Metric kPass1{Measure::kPass, 0, 1};

// A problem's chance of a right sample is squared, so that many problems are hard; a right sample
// is e^N(gain, 0.4) times as fast as the reference.
double SimulatedSample(Philox* random, double chance, double gain) {
  const bool right = random->Uniform() < chance;
  const double speedup = std::exp(gain + 0.4 * random->Normal());
  return right ? speedup : 0;
}

std::vector<PairedProblem> Simulate(Philox* random, size_t problems, int samples, size_t models) {
  std::vector<PairedProblem> simulated;
  for (size_t j = 0; j < problems; ++j) {
    PairedProblem problem{.expert_speedup = 1.8, .speedups = {}};
    const double u = random->Uniform();
    const double gain = 0.3 * random->Normal();
    for (size_t m = 0; m < models; ++m) {
      // The second model is right more often: u in place of u².
      const double chance = m == 0 ? u * u : u;
      std::vector<double> speedups;
      for (int i = 0; i < samples; ++i) speedups.push_back(SimulatedSample(random, chance, gain));
      problem.speedups.push_back(std::move(speedups));
    }
    simulated.push_back(std::move(problem));
  }
  return simulated;
}

const char* NameForReference(Measure measure) {
  switch (measure) {
    case Measure::kPass:
      return "pass";
    case Measure::kFast:
      return "fast";
    case Measure::kFastExpert:
      return "expert";
    case Measure::kBest:
      break;
  }
  return "best";
}

json Reference(const std::vector<PairedProblem>& problems, const std::vector<Metric>& metrics,
               int draws) {
  json in = {{"draws", draws}, {"problems", json::array()}, {"metrics", json::array()}};
  for (const PairedProblem& problem : problems) {
    in["problems"].push_back({{"expert", problem.expert_speedup}, {"models", problem.speedups}});
  }
  for (const Metric& metric : metrics) {
    in["metrics"].push_back(
        {{"measure", NameForReference(metric.measure)}, {"p", metric.p}, {"k", metric.k}});
  }
  const TempDir folder = *TempDir::Make("eval");
  std::ofstream(folder.path() + "/in.json") << in.dump();
  const std::string command = absl::StrCat(WHETSTONE_VENV_DIR, "/bin/python ", SourceDir(),
                                           "/coordinator/eval/eval_reference.py ", folder.path(),
                                           "/in.json ", folder.path(), "/out.json");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return json::parse(*ReadFile(folder.path() + "/out.json"));
}

void ExpectSame(const Estimate& ours, const json& reference, double tolerance,
                const std::string& what) {
  EXPECT_NEAR(ours.value, reference[0].get<double>(), 1e-9) << what;
  EXPECT_NEAR(ours.low, reference[1].get<double>(), tolerance) << what;
  EXPECT_NEAR(ours.high, reference[2].get<double>(), tolerance) << what;
}

TEST(BootstrapTest, AgreesWithTheReferenceImplementation) {
  const std::vector<Metric> metrics = {kPass1,
                                       {Measure::kPass, 0, 3},
                                       {Measure::kFast, 1, 2},
                                       {Measure::kFast, 1.5, 6},
                                       {Measure::kFastExpert, 0, 2},
                                       {Measure::kBest, 0, 1},
                                       {Measure::kBest, 0, 4}};
  for (const size_t count : {size_t{1}, size_t{12}}) {
    Philox random(3, {count, 0, 0, 0});
    const std::vector<PairedProblem> problems = Simulate(&random, count, /*samples=*/6, 2);
    const json reference = Reference(problems, metrics, /*draws=*/1500);
    // Draws of one problem's six samples are few different ones: an end may be the next of them.
    const double tolerance = count == 1 ? 0.17 : 0.05;
    EXPECT_NEAR(TailOfInterval(count), reference["tail"].get<double>(), 1e-5);
    const Estimates ours = EstimateModels(problems, metrics, 17, 10000);
    ASSERT_EQ(ours.models.size(), 2u);
    ASSERT_EQ(ours.pairs.size(), 1u);
    EXPECT_EQ(ours.pairs[0].model, 1u);
    EXPECT_EQ(ours.pairs[0].baseline, 0u);
    for (size_t i = 0; i < metrics.size(); ++i) {
      const std::string what = absl::StrCat(MetricName(metrics[i]), " of ", count, " problems");
      for (size_t m = 0; m < 2; ++m) {
        ExpectSame(ours.models[m][i], reference["models"][m][i], tolerance, what);
      }
      ExpectSame(ours.pairs[0].metrics[i], reference["pairs"][0][i], tolerance, "pair: " + what);
    }
  }
}

TEST(BootstrapTest, EqualSeedsGiveEqualIntervals) {
  Philox random(3, {0, 0, 0, 0});
  const std::vector<PairedProblem> problems = Simulate(&random, 12, 8, 1);
  const auto low = [&](uint64_t seed) {
    return EstimateModels(problems, {{Measure::kBest, 0, 1}}, seed, 200).models[0][0].low;
  };
  EXPECT_EQ(low(1), low(1));
  EXPECT_NE(low(1), low(2));
}

TEST(BootstrapTest, AModelDoesNotDifferFromItself) {
  Philox random(5, {0, 0, 0, 0});
  std::vector<PairedProblem> problems = Simulate(&random, 12, 16, 1);
  for (PairedProblem& problem : problems) problem.speedups.push_back(problem.speedups[0]);
  const Comparison pair =
      EstimateModels(problems, {kPass1, {Measure::kBest, 0, 4}}, 17, 500).pairs[0];
  EXPECT_EQ(pair.metrics[0].low, 0);
  EXPECT_EQ(pair.metrics[0].high, 0);
  EXPECT_EQ(pair.metrics[1].low, 1);
  EXPECT_EQ(pair.metrics[1].high, 1);
}

TEST(BootstrapTest, FewerSamplesThanKAreTakenAsTheyAre) {
  const std::vector<PairedProblem> problems = {{0, {{2, 0, 0, 0}}}, {0, {{0, 0}}}};
  EXPECT_DOUBLE_EQ(EstimateModels(problems, {{Measure::kPass, 0, 4}}, 1, 10).models[0][0].value,
                   0.5);
}

TEST(BootstrapTest, WhatIsSlowOrWrongCountsAsTheReference) {
  const std::vector<PairedProblem> problems = {{0, {{0.5, 0, 4, 1}}}};
  const auto value = [&](const Metric& metric) {
    return EstimateModels(problems, {metric}, 1, 10).models[0][0].value;
  };
  EXPECT_DOUBLE_EQ(value({Measure::kBest, 0, 1}), std::sqrt(2.0));  // ∜(1·1·4·1)
  EXPECT_DOUBLE_EQ(value({Measure::kBest, 0, 4}), 4);
  EXPECT_DOUBLE_EQ(value({Measure::kFast, 1, 1}), 0.25) << "as fast as the reference is not faster";
  EXPECT_DOUBLE_EQ(value({Measure::kFastExpert, 0, 1}), 0) << "the expert is not known";
}

// 300 evaluations are simulated whose truth is known; of a 95 % interval the share that holds it is
// 0.95 ± 0.025 (two standard deviations) if it is exact. Plain percentiles of 12 problems hold it
// in some 90 %.
TEST(BootstrapTest, IntervalsHoldTheTruthAsOftenAsTheySay) {
  const std::vector<Metric> metrics = {
      kPass1, {Measure::kPass, 0, 4}, {Measure::kFast, 1.5, 4}, {Measure::kBest, 0, 4}};
  // The truth is what very many samples and problems say.
  Philox truth_random(11, {0, 0, 0, 0});
  const Estimates truth =
      EstimateModels(Simulate(&truth_random, 40000, /*samples=*/8, 2), metrics, 1, 1);
  constexpr int kEvaluations = 300;
  for (const size_t problems : {size_t{3}, size_t{6}, size_t{12}}) {
    // Three problems may all be hard ones, and then nothing shows that there are others.
    const double least = problems == 3 ? 0.78 : problems == 6 ? 0.89 : 0.92;
    std::vector<int> held(metrics.size()), pair_held(metrics.size());
    for (uint64_t e = 0; e < kEvaluations; ++e) {
      Philox random(12, {e, problems, 0, 0});
      const Estimates estimates =
          EstimateModels(Simulate(&random, problems, /*samples=*/16, 2), metrics, e, /*draws=*/600);
      for (size_t i = 0; i < metrics.size(); ++i) {
        const auto holds = [](const Estimate& estimate, double value) {
          return estimate.low <= value && value <= estimate.high;
        };
        held[i] += holds(estimates.models[0][i], truth.models[0][i].value);
        pair_held[i] += holds(estimates.pairs[0].metrics[i], truth.pairs[0].metrics[i].value);
      }
    }
    for (size_t i = 0; i < metrics.size(); ++i) {
      const std::string name = absl::StrCat(MetricName(metrics[i]), ", ", problems, " problems");
      const double share = static_cast<double>(held[i]) / kEvaluations;
      const double pair_share = static_cast<double>(pair_held[i]) / kEvaluations;
      std::printf("%s: %.3f of the intervals hold the truth, %.3f of a difference's\n",
                  name.c_str(), share, pair_share);
      for (const double s : {share, pair_share}) {
        EXPECT_GE(s, least) << name;
        EXPECT_LE(s, 0.995) << name << ": too wide to say anything";
      }
    }
  }
}

}  // namespace
}  // namespace whetstone
