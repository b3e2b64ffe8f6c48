#include "coordinator/config/problem_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/prompt_files.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

std::string Refused(const std::string& yaml) {
  const auto campaign =
      ParseCampaign(absl::StrCat("name: c\nmodel: /m\n", yaml), "c.yaml", "/camp", {});
  return campaign.ok() ? "accepted" : std::string(campaign.status().message());
}

TEST(ProblemRulesTest, WhatIsEvaluatedMustBeHeldOut) {
  const std::string learned = "problems: [a.md]\n";
  EXPECT_EQ(Refused(learned + "eval: {problems: [v.md]}\n"), "accepted");
  EXPECT_THAT(Refused(learned + "eval:\n  problems: [v.md, a.md]\n"),
              HasSubstr("c.yaml:5: 'eval.problems[1]' names /camp/a.md a second time"));
  EXPECT_THAT(Refused(learned + "eval: {every: 5}\n"), HasSubstr("'eval.problems' is missing"));
  EXPECT_THAT(Refused(learned + "eval: {problems: []}\n"), HasSubstr("'eval.problems' is missing"));
  EXPECT_THAT(Refused(learned + "eval: {problems: ['']}\n"),
              HasSubstr("'eval.problems[0]' is empty"));
  EXPECT_THAT(Refused(learned + "eval: {problems: [v.md], every: -1}\n"),
              HasSubstr("'eval.every' must be at least 0, not -1"));
  EXPECT_THAT(Refused(learned + "eval: {problems: [v.md], samples: 0}\n"),
              HasSubstr("'eval.samples' must be at least 1, not 0"));
}

TEST(ProblemRulesTest, TheBestByEvaluationNeedsOne) {
  EXPECT_THAT(Refused("problems: [a.md]\ncheckpoint: {best_by: eval}\n"),
              HasSubstr("'checkpoint.best_by' is eval, and nothing is evaluated"));
  EXPECT_THAT(Refused("problems: [a.md]\ncheckpoint: {best_by: loss}\n"),
              HasSubstr("reward, eval"));
  EXPECT_EQ(Refused("problems: [a.md]\ncheckpoint: {best_by: eval}\neval: {problems: [v.md]}\n"),
            "accepted");
}

TEST(ProblemRulesTest, OnlyACampaignThatEvaluatesMayLearnNothing) {
  EXPECT_THAT(Refused("eval: {problems: [v.md]}\n"), HasSubstr("'problems' is missing"));
  EXPECT_EQ(Refused("train: {steps: 0}\neval: {problems: [v.md]}\n"), "accepted");
  EXPECT_THAT(Refused("train: {steps: 0}\n"), HasSubstr("'problems' is missing"));
  EXPECT_THAT(Refused("problems: [a.md]\ntrain: {steps: 0}\n"),
              HasSubstr("'train.steps' is 0 and there is no 'warmup' and no 'eval'"));
  const v1::Campaign c = *ParseCampaign(
      "name: c\nmodel: /m\nproblems: [a.md]\neval: {problems: [v.md]}\n", "c.yaml", "/camp", {});
  EXPECT_EQ(c.eval().every(), 10);
  EXPECT_EQ(c.eval().samples(), 8);
  EXPECT_EQ(c.checkpoint().best_by(), "reward");
}

TEST(ProblemRulesTest, AFolderStandsForItsPromptFiles) {
  const TempDir folder = *TempDir::Make("prompts");
  for (const char* name : {"/v/b.md", "/v/README.md", "/v/a.md", "/v/notes.txt"}) {
    ASSERT_TRUE(MakeDirectories(folder.path() + "/v").ok());
    ASSERT_TRUE(WriteFileAtomically(folder.path() + name, "x").ok());
  }
  const std::string file = folder.path() + "/c.yaml";
  const auto load = [&](const std::string& evaluated) {
    EXPECT_TRUE(WriteFileAtomically(file, absl::StrCat("name: c\nmodel: /m\ntrain: {steps: 0}\n",
                                                       "eval: {problems: [", evaluated, "]}\n"))
                    .ok());
    return LoadCampaign(file, {});
  };
  const auto campaign = load("v, c.yaml");
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  EXPECT_THAT(campaign->eval().problems(),
              testing::ElementsAre(folder.path() + "/v/a.md", folder.path() + "/v/b.md", file));
  EXPECT_THAT(std::string(load("w").status().message()),
              HasSubstr(absl::StrCat(file, ":4: 'eval.problems[0]': there is no file ",
                                     folder.path(), "/w")));
  ASSERT_TRUE(MakeDirectories(folder.path() + "/empty").ok());
  EXPECT_THAT(std::string(load("v, empty").status().message()),
              HasSubstr(absl::StrCat("'eval.problems[1]': ", folder.path(),
                                     "/empty holds no prompt file (*.md)")));
}

}  // namespace
}  // namespace whetstone
