#include "coordinator/report/measuring_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "common/file.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Verdict Steady(const std::string& worker, const std::string& problem = "p") {
  v1::Verdict verdict;
  verdict.set_outcome(v1::CORRECT);
  verdict.set_timed(true);
  verdict.set_worker(worker);
  verdict.set_problem_hash(problem);
  verdict.mutable_measured_on()->set_cpu_model("EPYC");
  verdict.set_noise_band(0.01);
  verdict.set_compile_s(0.5);
  verdict.set_check_s(0.25);
  verdict.set_time_s(1);
  return verdict;
}

class MeasuringHealthTest : public testing::Test {
 protected:
  // Adds older and older ones.
  void Add(int count, const v1::Verdict& verdict) {
    for (int i = 0; i < count; ++i) watch_.Add(verdict);
  }
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const HealthFinding& finding : watch_.Findings()) {
      kinds.push_back(finding.kind);
      EXPECT_EQ(std::count(std::begin(kHealthKinds), std::end(kHealthKinds), finding.kind), 1);
      EXPECT_FALSE(finding.advice.empty());
    }
    return kinds;
  }
  MeasuringWatch watch_;
};

TEST_F(MeasuringHealthTest, QuietWorkersThatAreAlikeHaveNoFindings) {
  EXPECT_THAT(Kinds(), IsEmpty());
  v1::Verdict crash = Steady("cpu01");
  crash.set_outcome(v1::CRASH);
  crash.set_timed(false);
  for (int i = 0; i < 60; ++i) {
    for (const char* worker : {"cpu01", "cpu02"}) watch_.Add(Steady(worker));
    crash.set_worker(i % 2 == 0 ? "cpu01" : "cpu02");
    watch_.Add(crash);
  }
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(MeasuringHealthTest, Noise) {
  v1::Verdict noisy = Steady("cpu01");
  noisy.set_noise_band(0.06);
  Add(kNoiseVerdicts / 2 + 1, noisy);
  Add(kNoiseVerdicts, Steady("cpu01"));
  const auto found = watch_.Findings();
  ASSERT_THAT(Kinds(), ElementsAre("noisy_timing"));
  EXPECT_THAT(found[0].what, HasSubstr("equal code differs by 6.0 % (the A/A threshold of the "
                                       "last 50 timed verdicts)"));
}

TEST_F(MeasuringHealthTest, FewVerdictsSayNothing) {
  v1::Verdict noisy = Steady("cpu01");
  noisy.set_noise_band(1);
  Add(kNoiseVerdicts - 1, noisy);
  v1::Verdict cached = noisy;
  cached.set_cached(true);
  Add(kNoiseVerdicts, cached);
  v1::Verdict unmeasured = noisy;
  unmeasured.clear_measured_on();
  Add(kNoiseVerdicts, unmeasured);
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(MeasuringHealthTest, AWorkerWhereProgramsFail) {
  v1::Verdict crash = Steady("cpu02");
  crash.set_outcome(v1::TIMEOUT);
  crash.set_timed(false);
  Add(30, Steady("cpu01"));
  Add(20, crash);
  Add(20, Steady("cpu02"));
  const auto found = watch_.Findings();
  ASSERT_THAT(Kinds(), ElementsAre("odd_worker"));
  EXPECT_EQ(found[0].subject, "cpu02");
  EXPECT_EQ(found[0].what,
            "worker cpu02 is unlike the others: 50 % of the programs fail there (elsewhere 0 %)");
}

TEST_F(MeasuringHealthTest, AWorkerThatIsNoisyAndSlow) {
  v1::Verdict slow = Steady("cpu02");
  slow.set_noise_band(0.04);
  slow.set_time_s(3);
  for (int i = 0; i < 30; ++i) {
    watch_.Add(Steady("cpu01"));
    watch_.Add(slow);
    watch_.Add(Steady("cpu03"));
  }
  const auto found = watch_.Findings();
  ASSERT_THAT(Kinds(), ElementsAre("odd_worker"));
  EXPECT_EQ(found[0].what,
            "worker cpu02 is unlike the others: equal code differs 4.0 times as much there; timing "
            "takes 3.0 times as long there");
  MeasuringWatch apart;
  slow.mutable_measured_on()->set_cpu_model("N100");
  for (int i = 0; i < 30; ++i) {
    apart.Add(Steady("cpu01"));
    apart.Add(slow);
  }
  EXPECT_THAT(apart.Findings(), IsEmpty()) << "another CPU model is another machine";
}

TEST_F(MeasuringHealthTest, WhoHasMoreOfTheLongProblemsIsNotOdd) {
  v1::Verdict fails = Steady("", "long");
  fails.set_outcome(v1::TIMEOUT);
  fails.set_timed(false);
  v1::Verdict right = Steady("", "long");
  right.set_time_s(30);
  right.set_noise_band(0.04);
  for (int i = 0; i < 40; ++i) {
    const bool first = i < 10;
    for (v1::Verdict each : {Steady("", "short"), fails, right}) {
      const bool is_long = each.problem_hash() == "long";
      each.set_worker(is_long == first ? "cpu01" : "cpu02");
      watch_.Add(each);
    }
  }
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(MeasuringHealthTest, WhatIsClearLaterIsNotSlower) {
  v1::Verdict soon = Steady("cpu01"), late = Steady("cpu01");
  soon.set_process_pairs(4);
  late.set_process_pairs(16);
  late.set_time_s(4);
  Add(kSlowerVerdicts, late);
  Add(3 * kSlowerVerdicts, soon);
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(MeasuringHealthTest, VerdictsThatTakeLongerAndLonger) {
  v1::Verdict slow = Steady("cpu01"), other = Steady("cpu01", "q");
  slow.set_time_s(2.5);
  other.set_time_s(60);
  Add(kSlowerVerdicts, slow);
  Add(10, other);  // another problem may take longer
  Add(3 * kSlowerVerdicts, Steady("cpu01"));
  const auto found = watch_.Findings();
  ASSERT_THAT(Kinds(), ElementsAre("slower_verdicts"));
  EXPECT_EQ(found[0].what, "timing took 2.5 times as long in the last 50 verdicts as before");
}

TEST_F(MeasuringHealthTest, TheNewestOfAJournalAreRead) {
  const TempDir folder = *TempDir::Make("health");
  const std::unique_ptr<Journal> journal = *Journal::Create(folder.path() + "/journal.db", "c");
  std::vector<JournalEntry> entries;
  for (int i = 0; i < kHealthVerdicts + 100; ++i) {
    VerdictEntry entry;
    entry.step = 1;
    entry.sample = i;
    entry.verdict = Steady("cpu01");
    if (i >= kHealthVerdicts) entry.verdict.set_noise_band(0.5);  // the newest
    entries.push_back(entry);
  }
  ASSERT_TRUE(journal->Append(entries, 0).ok());
  const auto found = MeasuringHealth(*journal);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_THAT(found->front().what, HasSubstr("equal code differs by 50.0 %"));
}

}  // namespace
}  // namespace whetstone
