#include "coordinator/durable/request_builders.h"

#include <gtest/gtest.h>

#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

TEST(BuildLoadTest, TellsTheTrainerHowToLearn) {
  CampaignPlan plan;
  plan.campaign_id = "c";
  v1::TrainConfig& train = *plan.campaign.mutable_train();
  train.set_optimizer_state("8bit");
  train.set_activation_checkpointing("full");
  train.set_token_budget(700);
  train.set_sharding("optimizer");
  train.mutable_lora()->set_rank(4);
  train.mutable_lora()->set_alpha(8);
  train.mutable_lora()->add_targets("v_proj");
  plan.campaign.mutable_chat()->set_thinking("off");
  plan.campaign.mutable_chat()->set_date("1 May 2026");
  const v1::LoadCheckpointRequest request = BuildLoad(plan, "dir");
  EXPECT_EQ(request.path(), "dir");
  EXPECT_EQ(request.campaign_id(), "c");
  EXPECT_EQ(request.learner().optimizer_state(), "8bit");
  EXPECT_EQ(request.learner().activation_checkpointing(), "full");
  EXPECT_EQ(request.learner().token_budget(), 700);
  EXPECT_EQ(request.learner().sharding(), "optimizer");
  EXPECT_EQ(request.learner().lora().rank(), 4);
  EXPECT_EQ(request.learner().lora().alpha(), 8);
  EXPECT_EQ(request.learner().lora().targets(0), "v_proj");
  EXPECT_EQ(request.chat().thinking(), "off");
  EXPECT_EQ(request.chat().date(), "1 May 2026");
  EXPECT_TRUE(request.weights_only()) << "it has no update";
  train.set_steps(1);
  EXPECT_FALSE(BuildLoad(plan, "dir").weights_only());
}

TEST(BuildGenerateTest, AsksForWhatIsMissingOnly) {
  const CampaignPlan plan = MakeTestPlan({.steps = 2, .warmup = 0, .group_size = 2});
  DurableState durable(&plan);
  for (const int sample : {0, 1}) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_group_index(sample);  // each group has one
    rollout.completion.set_sample(sample);
    durable.Apply(rollout);
  }
  const v1::GenerateRequest request = BuildGenerate(plan, *durable.FindStep(1));
  ASSERT_EQ(request.groups_size(), 2);
  EXPECT_EQ(request.step(), 1);
  for (const int group : {0, 1}) {
    EXPECT_EQ(request.groups(group).group_index(), group);
    ASSERT_EQ(request.groups(group).samples_size(), 1);
    EXPECT_EQ(request.groups(group).samples(0), 1 - group);
    EXPECT_EQ(request.groups(group).messages(0).content(), group == 0 ? "a" : "b");
  }
}

// Every evaluation, of whatever policy, draws the same random numbers, and no step draws those.
TEST(BuildGenerateTest, EvaluationsShareRandomNumbersOfTheirOwn) {
  const CampaignPlan plan = MakeTestPlan(
      {.sets = {"eval.problems=[/v.md, /w.md]", "eval.samples=3", "generate.temperature=0.7"}});
  StepRecord evaluation(-20, 2, 3);
  evaluation.groups[0].samples[1].completion = v1::Completion();
  const v1::GenerateRequest request = BuildGenerate(plan, evaluation);
  EXPECT_EQ(request.step(), 0);
  EXPECT_EQ(request.seed(), plan.campaign.seed());
  EXPECT_EQ(request.sampling().temperature(), 0.7);
  ASSERT_EQ(request.groups_size(), 2);
  EXPECT_EQ(request.groups(0).samples_size(), 2) << "one is there already";
  EXPECT_EQ(request.groups(1).samples_size(), 3);
  EXPECT_EQ(request.groups(0).messages(0).content(), "v");
  EXPECT_EQ(request.groups(1).messages(0).content(), "w");
  EXPECT_EQ(BuildGenerate(plan, StepRecord(0, 2, 3)).SerializeAsString(),
            BuildGenerate(plan, StepRecord(-10, 2, 3)).SerializeAsString());
  EXPECT_EQ(plan.CandidateId(-20, 1, 2), "sim-1/eval-20/1/2");
  EXPECT_EQ(plan.ProblemOf(7, 0).problem.id(), "a") << "training takes turns among its own";
  EXPECT_EQ(plan.ProblemOf(7, 1).problem.id(), "b");
}

// Problem b's prompt comes with the next sentence each time that b comes round, not always the same
// one, though there are as many problems as sentences.
TEST(BuildGenerateTest, HintsTakeTurnsForEachProblem) {
  CampaignPlan plan =
      MakeTestPlan({.steps = 9, .warmup = 0, .group_size = 1, .prompts_per_step = 1});
  for (PlannedProblem& problem : plan.problems) {
    problem.response_prefix = problem.problem.id() + " begins";
    problem.hinted = {problem.messages, problem.messages};
    problem.hinted[1][0].set_content(problem.problem.id() + "\nTry blocking.");
  }
  const char* const want[] = {"a", "b", "a\nTry blocking.", "b\nTry blocking.", "a", "b"};
  for (int64_t step = 1; step <= 6; ++step) {
    const v1::GenerateRequest request = BuildGenerate(plan, StepRecord(step, 1, 1));
    ASSERT_EQ(request.groups_size(), 1);
    EXPECT_EQ(request.groups(0).messages(0).content(), want[step - 1]);
    EXPECT_EQ(request.groups(0).response_prefix(), step % 2 == 1 ? "a begins" : "b begins");
  }
}

TEST(BuildUpdateTest, WarmupTakesItsExamples) {
  const CampaignPlan plan = MakeTestPlan({.steps = 1, .warmup = 2});
  DurableState durable(&plan);
  v1::UpdateRequest request = BuildUpdate(plan, durable);
  EXPECT_EQ(request.name().phase(), v1::UpdateName::WARMUP);
  EXPECT_EQ(request.sft().examples(0).response(), "answer 0");
  durable.Apply(UpdateEntry{request.name()});
  request = BuildUpdate(plan, durable);
  EXPECT_EQ(request.name().step(), 2);
  EXPECT_EQ(request.sft().examples(0).response(), "answer 1");
}

TEST(RecordedRequestTest, IsTheOneThatHasTheRecordedHash) {
  CampaignPlan plan = MakeTestPlan({.steps = 1, .warmup = 2});
  const DurableState durable(&plan, 1);
  const v1::UpdateRequest sent = BuildUpdate(plan, durable);
  const UpdateEntry entry{sent.name(), RequestHash(plan, sent)};
  for (const bool exact : {false, true}) {
    EXPECT_EQ(RecordedRequest(plan, durable, entry, exact)->SerializeAsString(),
              sent.SerializeAsString());
  }
  plan.campaign.mutable_warmup()->set_lr(plan.campaign.warmup().lr() + 1);
  const absl::Status changed = RecordedRequest(plan, durable, entry, /*exact=*/true).status();
  EXPECT_EQ(changed.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(changed.message().find("warm-up 2"), std::string::npos) << changed;
  EXPECT_NE(changed.message().find("campaign.yaml, inputs/ or journal.db was changed"),
            std::string::npos)
      << changed;
  EXPECT_EQ(RecordedRequest(plan, durable, entry, /*exact=*/false)->SerializeAsString(),
            BuildUpdate(plan, durable).SerializeAsString());
}

TEST(RecordedRequestTest, TheHashIsTheSameWhereverTheRunLies) {
  CampaignPlan plan = MakeTestPlan({.steps = 1, .warmup = 1});
  v1::UpdateRequest request;
  request.mutable_grpo()->mutable_settings()->set_kl_reference(plan.checkpoint_dir + "/warmup");
  const std::string hash = RequestHash(plan, request);
  plan.checkpoint_dir = "/moved/checkpoints";
  EXPECT_NE(RequestHash(plan, request), hash) << "another model";
  request.mutable_grpo()->mutable_settings()->set_kl_reference("/moved/checkpoints/warmup");
  EXPECT_EQ(RequestHash(plan, request), hash);
}

}  // namespace
}  // namespace whetstone
