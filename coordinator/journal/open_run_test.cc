#include "coordinator/journal/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/worked_examples.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(OpenRunTest, JournalAndCampaignBelongTogether) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  v1::Campaign campaign = *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [",
                                                      SourceDir(), "/prompts/matmul_f32.md]\n"),
                                         "test", "/", {});
  ASSERT_TRUE(Journal::Create(paths.journal(), "mine-01234567").ok());
  const auto opened = [&](const std::string& name, bool read_only) {
    campaign.set_name(name);
    EXPECT_TRUE(FreezeCampaign(campaign, paths).ok());
    return OpenRun(paths, read_only);
  };
  EXPECT_EQ(opened("yours", /*read_only=*/true).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(opened("yours", /*read_only=*/false).status().code(), absl::StatusCode::kDataLoss);
  const auto run = opened("mine", /*read_only=*/false);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->plan.campaign_id, "mine-01234567");
  // Now the journal knows better.
  EXPECT_THAT(std::string(opened("yours", /*read_only=*/false).status().message()),
              HasSubstr(R"(was edited: name "mine" -> "yours";)"));
  const auto seen = opened("yours", /*read_only=*/true);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->plan.campaign.name(), "mine");
}

TEST(OpenRunTest, CampaignsThatShareAFolderHaveOneOfTheirOwnInIt) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  v1::Campaign campaign =
      *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                  "/prompts/matmul_f32.md]\ncheckpoint: {dir: /shared}\n"),
                     "test", "/", {});
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  const auto step = [&] { return OpenRun(paths, /*read_only=*/true)->plan.CheckpointPath(1); };
  const auto saved_at = [&](const std::string& path) {
    std::filesystem::remove(paths.journal());
    const auto journal = *Journal::Create(paths.journal(), "mine-01234567");
    const CampaignPlan plan = *BuildPlan(campaign, "mine-01234567", "/shared");
    std::vector<JournalEntry> entries;
    if (!path.empty()) entries.push_back(CheckpointEntry{plan.NameOf(1), path, "c0ffee", 1});
    EXPECT_TRUE(journal->Append(entries, 1).ok());
  };
  saved_at("");
  EXPECT_EQ(step(), "/shared/mine-01234567/step-1");
  saved_at("/shared/mine-01234567/step-1");
  EXPECT_EQ(step(), "/shared/mine-01234567/step-1");
  saved_at("/shared/step-1");
  EXPECT_EQ(step(), "/shared/step-1") << "an earlier version began it";
  campaign.mutable_checkpoint()->set_dir("/shared/");
  std::filesystem::remove(paths.campaign());
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  saved_at("/shared//step-1");
  EXPECT_EQ(step(), "/shared//step-1") << "as it said";
}

TEST(OpenRunTest, ACampaignIsFrozen) {
  const TempDir folder = *TempDir::Make("run");
  const std::string root = folder.path() + "/run";
  const v1::Campaign campaign =
      *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                  "/prompts/matmul_f32.md]\ntrain: {lr: 1e-5}\n"),
                     "test", "/", {});
  ASSERT_TRUE(CreateRun(*BuildPlan(campaign, "mine-01234567", "/c"), root).ok());
  const RunPaths paths(root);
  const std::string text = *ReadFile(paths.campaign());
  const auto edited = [&](const std::vector<std::pair<std::string, std::string>>& edits) {
    EXPECT_TRUE(WriteFileAtomically(paths.campaign(), absl::StrReplaceAll(text, edits)).ok());
    return OpenRun(paths, /*read_only=*/false).status();
  };
  EXPECT_TRUE(edited({{"# The", "# Our"}}).ok()) << "it says the same";
  const absl::Status refused = edited({{"lr: 1e-05", "lr: 3e-05"}, {"steps: 40", "steps: 50"}});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr(paths.campaign() + " was edited: train.lr 1e-05 -> 3e-05, train.steps 40 -> 50;"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("whet resume ", root,
                                     " --set 'train.lr=3e-05' --set 'train.steps=50'")));
  const auto seen = OpenRun(paths, /*read_only=*/true);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->plan.campaign.train().steps(), 40) << "what it did is shown as it was";
  // What is proposed is what may be done.
  const absl::Status mixed = edited({{"seed: 17", "seed: 18"}, {"stop: []", "stop: [\"it's\"]"}});
  EXPECT_THAT(
      std::string(mixed.message()),
      AllOf(HasSubstr("seed 17 -> 18"), HasSubstr(root + R"( --set 'generate.stop=["it'\''s"]')"),
            Not(HasSubstr("--set 'seed"))));
  EXPECT_THAT(std::string(edited({{"seed: 17", "seed: 18"}}).message()),
              AllOf(HasSubstr(paths.PutCampaignBack()), Not(HasSubstr("--set"))));
  EXPECT_TRUE(edited({}).ok());
}

TEST(OpenRunTest, ACampaignThatIsLostIsInTheJournal) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path() + "/run");
  const v1::Campaign campaign =
      *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                  "/prompts/matmul_f32.md]\n"),
                     "test", "/", {});
  ASSERT_TRUE(CreateRun(*BuildPlan(campaign, "mine-01234567", "/c"), paths.root()).ok());
  const std::string text = *ReadFile(paths.campaign());
  ASSERT_TRUE(WriteFileAtomically(paths.campaign(), "train: {steps").ok());
  const auto seen = OpenRun(paths, /*read_only=*/true);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->plan.campaign.name(), "mine");
  EXPECT_EQ(seen->journal->Fact("campaign"), text) << "it is what is put back";
  EXPECT_THAT(std::string(OpenRun(paths, /*read_only=*/false).status().message()),
              HasSubstr(paths.PutCampaignBack()));
  std::filesystem::remove(paths.campaign());
  EXPECT_THAT(std::string(RunDir::Find(paths.root()).status().message()),
              AllOf(HasSubstr("has lost its campaign.yaml"), HasSubstr(paths.PutCampaignBack())));
}

// The plan of a campaign that evaluates `file` and says `more`.
absl::StatusOr<CampaignPlan> PlanOf(const std::string& file, const std::string& more,
                                    const RunPaths* frozen = nullptr) {
  const std::string text =
      absl::StrCat("name: mine\nmodel: /none\n", more, "eval: {problems: [", file, "]}\n");
  ASSIGN_OR_RETURN(const v1::Campaign campaign, ParseCampaign(text, "c.yaml", "/", {}));
  if (frozen != nullptr) RETURN_IF_ERROR(FreezeCampaign(campaign, *frozen));
  return BuildPlan(campaign, "mine-1", "/c");
}

// What a run shows and asks stays, though it keeps only the worked examples that it chose.
TEST(OpenRunTest, TheWarmupIsThatOfTheFrozenExamples) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  const std::string file = SourceDir() + "/prompts/matmul_f32.md";
  const std::string rewrites = folder.path() + "/mine.jsonl";
  const nlohmann::json rewrite = {{"id", "matmul/1"},
                                  {"prompt_code", ParsePromptFile(file)->reference()},
                                  {"rewrite", "void matmul() {}"}};
  ASSERT_TRUE(WriteFileAtomically(rewrites, rewrite.dump()).ok());
  const v1::Campaign campaign = *ParseCampaign(
      absl::StrCat(
          "name: mine\nmodel: /none\nproblems: [", file, "]\nwarmup: {examples: ", SourceDir(),
          "/prompts/warmup.jsonl, nearest: 21, references: 3, rewrites: ", rewrites, "}\n"),
      "test", "/", {});
  const CampaignPlan plan = *BuildPlan(campaign, "mine-01234567", paths.checkpoints());
  EXPECT_EQ(plan.warmup_updates(), 5) << "of eight: 21 examples, and the rewrite 4 * 3 times";
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  std::filesystem::remove(rewrites);
  EXPECT_EQ(ReadWorkedExamples(paths.inputs() + "/warmup.jsonl")->size(), 21u);
  ASSERT_TRUE(Journal::Create(paths.journal(), "mine-01234567").ok());
  const auto run = OpenRun(paths, /*read_only=*/true);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->plan.warmup_updates(), plan.warmup_updates());
  for (size_t update = 0; update < plan.warmup.size(); ++update) {
    ASSERT_EQ(run->plan.warmup[update].size(), plan.warmup[update].size());
    for (size_t i = 0; i < plan.warmup[update].size(); ++i) {
      EXPECT_EQ(run->plan.warmup[update][i].SerializeAsString(),
                plan.warmup[update][i].SerializeAsString());
    }
  }
}

TEST(OpenRunTest, WhereAProblemHasNoExpertItsFastestRewriteIsOne) {
  const TempDir folder = *TempDir::Make("run");
  const std::string text = *ReadFile(SourceDir() + "/prompts/matmul_f32.md");
  const std::string with = folder.path() + "/with.md";
  const std::string without = folder.path() + "/without.md";
  ASSERT_TRUE(WriteFileAtomically(with, text).ok());
  ASSERT_TRUE(WriteFileAtomically(without, text.substr(0, text.find("## expert"))).ok());
  const v1::Problem problem = *ParsePromptFile(with);
  const auto expert = [&](const std::string& file, const std::vector<double>& gains) {
    std::string lines;
    for (const double gain : gains) {
      const nlohmann::json rewrite = {{"id", absl::StrCat("matmul/", gain)},
                                      {"prompt_code", problem.reference()},
                                      {"rewrite", absl::StrCat("void matmul() {}  // ", gain)},
                                      {"gain", gain}};
      absl::StrAppend(&lines, rewrite.dump(), "\n");
    }
    const std::string rewrites = folder.path() + "/mine.jsonl";
    EXPECT_TRUE(WriteFileAtomically(rewrites, lines).ok());
    const auto plan = BuildPlan(
        *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", file,
                                    "]\nwarmup: {examples: ", SourceDir(),
                                    "/prompts/warmup.jsonl, nearest: 21, references: 1, rewrites: ",
                                    rewrites, "}\n"),
                       "test", "/", {}),
        "mine-01234567", "/c");
    EXPECT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->problems[0].hash, ProblemHash(plan->problems[0].problem));
    return plan->problems[0].problem.expert();
  };
  EXPECT_EQ(expert(with, {9.5}), problem.expert()) << "its own goes first";
  EXPECT_EQ(expert(without, {3.5, 9.5, 2.5}), "void matmul() {}  // 9.5");
  EXPECT_EQ(expert(without, {1.9}), "") << "too slow to matter to the reward";
  EXPECT_EQ(expert(without, {}), "");
}

TEST(OpenRunTest, AWarmupThatShowsNothingIsRefused) {
  const std::string text = absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                        "/prompts/matmul_f32.md]\nwarmup: {examples: ", SourceDir(),
                                        "/prompts/warmup.jsonl, nearest: 10}\n");
  const auto error = [&](const std::string& set) {
    const absl::Status status =
        BuildPlan(*ParseCampaign(text, "test", "/", {set}), "mine-1", "/c").status();
    return std::string(status.message());
  };
  EXPECT_THAT(error("warmup.epochs=0.04"), HasSubstr("'warmup.epochs': 0.04 of a pass over 10"));
  EXPECT_THAT(error("warmup.max_response_chars=3"), HasSubstr("raise warmup.max_response_chars"));
}

TEST(OpenRunTest, OnlyValidProblemsAreEvaluatedInACampaignThatLearns) {
  const TempDir folder = *TempDir::Make("run");
  const std::string prompts = SourceDir() + "/prompts/", valid = folder.path() + "/valid.md";
  const std::string held_out = *ReadFile(prompts + "test/moments_f64.md");
  ASSERT_TRUE(
      WriteFileAtomically(valid, absl::StrReplaceAll(held_out, {{"split: test", "split: valid"}}))
          .ok());
  const std::string learned = absl::StrCat("problems: [", prompts, "matmul_f32.md]\n");
  const auto plan = PlanOf(valid, learned);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->learned().size(), 1u);
  ASSERT_EQ(plan->evaluated().size(), 1u);
  EXPECT_EQ(plan->ProblemOf(1, 0).problem.id(), "matmul_f32");
  EXPECT_EQ(plan->ProblemOf(-10, 0).problem.id(), "moments_f64");
  const auto refused = [&](const std::string& file) {
    return std::string(PlanOf(prompts + file, learned).status().message());
  };
  EXPECT_THAT(refused("test/moments_f64.md"),
              HasSubstr("moments_f64.md is kept for final figures (split: test)"));
  EXPECT_THAT(refused("dot_f32.md"), HasSubstr("dot_f32.md is a training problem (split: train)"));
  EXPECT_THAT(refused("matmul_f32.md"), HasSubstr("'eval.problems[0]' names"));
  for (const std::string& any : {valid, prompts + "dot_f32.md", prompts + "test/moments_f64.md"}) {
    const auto nothing_learned = PlanOf(any, "train: {steps: 0}\n");
    ASSERT_TRUE(nothing_learned.ok()) << nothing_learned.status();
    EXPECT_TRUE(nothing_learned->learned().empty());
    EXPECT_TRUE(nothing_learned->EvaluationDue(0));
  }
}

TEST(OpenRunTest, AFrozenCampaignEvaluatesItsCopies) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  ASSERT_TRUE(
      PlanOf(SourceDir() + "/prompts/test/moments_f64.md", "train: {steps: 0}\n", &paths).ok());
  ASSERT_TRUE(Journal::Create(paths.journal(), "mine-01234567").ok());
  const auto run = OpenRun(paths, /*read_only=*/true);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->plan.campaign.eval().problems(0), paths.inputs() + "/eval-0-moments_f64.md");
  EXPECT_EQ(run->plan.FileOf(0), run->plan.campaign.eval().problems(0));
  EXPECT_EQ(run->plan.evaluated()[0].problem.id(), "moments_f64");
}

}  // namespace
}  // namespace whetstone
