#include "coordinator/discover/discover_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/file.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kReference[] = "int twice(int a) {\n  return a + a;\n}";
constexpr char kFaster[] = "int twice(int a) {\n  return a << 1;\n}";

class DiscoverResultTest : public testing::Test {
 protected:
  void SetUp() override {
    problem_.set_id("twice");
    problem_.set_reference(kReference);
    absl::StatusOr<DiscoverFolder> made =
        DiscoverFolder::Create(dir_->path() + "/search", "given", "", "problem");
    ASSERT_TRUE(made.ok()) << made.status();
    folder_.emplace(*std::move(made));
  }

  // Leaves what rules leave that found kFaster.
  void FindByRules() {
    v1::Verdict verdict;
    verdict.set_outcome(v1::CORRECT);
    verdict.set_speedup(2.1);
    verdict.set_speedup_low(2.0);
    verdict.set_speedup_high(2.2);
    const FoundRewrite program{{"a shift", "no sum"}, kFaster, 2};
    ASSERT_TRUE(WriteRuleResult(*folder_, RewriteSearch(), {{program, verdict}}).ok());
    ASSERT_TRUE(MakeDirectories(folder_->rule_proof() + "/twice/build").ok());
    ASSERT_TRUE(WriteFileAtomically(folder_->rule_proof() + "/twice/candidate.cc", kFaster).ok());
  }

  absl::StatusOr<DiscoverResult> ConcludeUnproved() const {
    return Conclude(
        *folder_, problem_, /*verify=*/false, [] { return false; }, [](const std::string&) {});
  }

  absl::StatusOr<TempDir> dir_ = TempDir::Make("discover-result");
  v1::Problem problem_;
  std::optional<DiscoverFolder> folder_;
};

TEST_F(DiscoverResultTest, TheFastestIsKeptWithItsDiffAndHistory) {
  FindByRules();
  const absl::StatusOr<DiscoverResult> result = ConcludeUnproved();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->best.has_value());
  EXPECT_EQ(result->best->source, kFaster);
  EXPECT_EQ(result->best->speedup, 2.1);
  const auto diff = ReadFile(folder_->best() + "/diff.patch");
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_THAT(*diff, HasSubstr("-  return a + a;\n+  return a << 1;\n"));
  EXPECT_EQ(*ReadFile(folder_->best() + "/candidate.cc"), kFaster);
  EXPECT_FALSE(std::filesystem::exists(folder_->best() + "/build"));
  const auto history = nlohmann::json::parse(*ReadFile(folder_->best() + "/history.json"));
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0]["what"], "a shift, then no sum");
  const std::string text = ResultText(*result, *folder_);
  EXPECT_THAT(text, HasSubstr("2.10x as fast as what was given (2.00 to 2.20)"));
  EXPECT_THAT(text, HasSubstr("not proved"));
  EXPECT_TRUE(ResultJson(*result, *folder_)["confirmed"].is_null());
  // Concluded again, it is the same.
  ASSERT_TRUE(ConcludeUnproved().ok());
  EXPECT_EQ(*ReadFile(folder_->best() + "/candidate.cc"), kFaster);
}

TEST_F(DiscoverResultTest, NothingFoundIsSaid) {
  ASSERT_TRUE(WriteRuleResult(*folder_, RewriteSearch(), {}).ok());
  const absl::StatusOr<DiscoverResult> result = ConcludeUnproved();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->best.has_value());
  EXPECT_THAT(ResultText(*result, *folder_), HasSubstr("nothing faster than what was given"));
  EXPECT_EQ(ResultJson(*result, *folder_)["speedup"], 1.0);
}

TEST_F(DiscoverResultTest, ADamagedFileIsNamed) {
  for (const char* damaged : {"{\"fast", "[]", "{\"fastest\": 2}", "{\"fastest\": {\"source\": 1}}",
                              "{\"fastest\": {\"source\": \"f\", \"rules\": [3]}}"}) {
    ASSERT_TRUE(WriteFileAtomically(folder_->rule_result(), damaged).ok());
    const absl::StatusOr<DiscoverResult> result = ConcludeUnproved();
    EXPECT_TRUE(absl::IsDataLoss(result.status())) << damaged << result.status();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("rules.json"));
  }
}

TEST_F(DiscoverResultTest, WhatIsNotClearlyFasterIsNotFound) {
  const FoundRewrite program{{"a shift"}, kFaster, 1.2};
  v1::Verdict verdict;
  verdict.set_speedup(1.01);
  verdict.set_speedup_low(0.99);
  ASSERT_TRUE(WriteRuleResult(*folder_, RewriteSearch(), {{program, verdict}}).ok());
  EXPECT_FALSE(ConcludeUnproved()->best.has_value());
}

TEST(ChooseBestTest, AConfirmedProgramBeatsARightOneAndThatAWrongOne) {
  const auto found = [](std::optional<bool> right, bool confirmed) {
    FoundProgram program;
    if (right) {
      program.verification.emplace();
      program.verification->right = *right;
      program.verification->confirmed = confirmed;
    }
    return program;
  };
  const FoundProgram confirmed = found(true, true);
  const FoundProgram other_speed = found(true, false);
  const FoundProgram not_run = found(std::nullopt, false);
  const FoundProgram wrong = found(false, false);
  EXPECT_EQ(ChooseBest({other_speed, confirmed}), 1u);
  EXPECT_EQ(ChooseBest({wrong, other_speed}), 1u);
  EXPECT_EQ(ChooseBest({not_run, other_speed}), 1u);
  EXPECT_EQ(ChooseBest({wrong, not_run}), 1u);
  EXPECT_EQ(ChooseBest({not_run, not_run}), 0u);
  EXPECT_EQ(ChooseBest({confirmed, not_run}), 0u);
}

}  // namespace
}  // namespace whetstone
