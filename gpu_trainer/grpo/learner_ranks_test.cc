// The update over several ranks, as threads of one process, beside the same update by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "absl/strings/str_cat.h"
#include "gpu_trainer/grpo/learner_testing.h"
#include "gpu_trainer/ranks/ranks_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 3;

// One update; every rank makes the same calls.
using Step = std::function<absl::StatusOr<UpdateResult>(Learner& learner, int step)>;

struct Trained {
  std::vector<UpdateResult> results;
  std::vector<float> weights;  // at the end
};

bool IsOfThisRank(const std::string& metric) {
  return metric == "perf/tokens_per_s" || metric == "perf/communication_s" ||
         metric == "perf/rank_wait_s";
}

// Trains the tiny model over so many ranks. Their results and weights must be equal to the last
// bit.
Trained Train(int ranks, LearnerOptions options, const Step& step) {
  std::vector<Trained> by_rank(static_cast<size_t>(ranks));
  const auto train = [&](RankGroup& group) {
    const ModelConfig config = reference::TinyConfig();
    Weights weights = reference::TinyWeights(config, torch::kFloat);
    LearnerOptions own = options;
    own.ranks = &group;
    Learner learner(config, weights, own);
    Trained& mine = by_rank[static_cast<size_t>(group.rank())];
    for (int s = 0; s < kSteps; ++s) mine.results.push_back(Must(step(learner, s)));
    mine.weights = Flat(weights);
  };
  if (ranks == 1) {
    RankGroup alone;
    train(alone);
  } else {
    RunAsRanks(ranks, train);
  }
  for (int r = 1; r < ranks; ++r) {
    EXPECT_EQ(by_rank[r].weights, by_rank[0].weights) << "rank " << r;
    for (int s = 0; s < kSteps; ++s) {
      const UpdateResult& first = by_rank[0].results[s];
      const UpdateResult& other = by_rank[r].results[s];
      EXPECT_EQ(other.applied, first.applied);
      EXPECT_EQ(other.skip_reason, first.skip_reason);
      for (const auto& [name, value] : first.metrics) {
        if (IsOfThisRank(name)) continue;
        EXPECT_EQ(other.metrics.at(name), value) << name;
      }
    }
  }
  return by_rank[0];
}

void ExpectTheSameOver124Ranks(const LearnerOptions& options, const Step& step) {
  const ModelConfig config = reference::TinyConfig();
  const std::vector<float> before = Flat(reference::TinyWeights(config, torch::kFloat));
  const Trained one = Train(1, options, step);
  const double change = Distance(one.weights, before);
  EXPECT_GT(change, 0);
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    const Trained several = Train(ranks, options, step);
    for (int s = 0; s < kSteps; ++s) {
      SCOPED_TRACE(absl::StrCat("step ", s));
      const auto& want = one.results[s].metrics;
      const auto& got = several.results[s].metrics;
      EXPECT_NEAR(got.at("loss"), want.at("loss"), 1e-6);
      EXPECT_NEAR(got.at("grad_norm"), want.at("grad_norm"), 1e-3 * want.at("grad_norm"));
      for (const auto& [name, value] : want) {
        // How much is encoded twice depends on where groups are cut.
        if (IsOfThisRank(name) || name == "perf/packed_tokens") continue;
        ASSERT_EQ(got.count(name), 1u) << name;
        EXPECT_NEAR(got.at(name), value, 1e-5 + 1e-3 * std::abs(value)) << name;
      }
      EXPECT_GT(got.at("perf/communication_mib"), 0);
      EXPECT_GT(got.at("perf/communication_s"), 0);
    }
    EXPECT_LT(Distance(several.weights, one.weights), 1e-3 * change);
  }
}

StepSettings Settings() {
  StepSettings settings;
  settings.adamw = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .weight_decay = 0.01};
  settings.max_grad_norm = 1;
  settings.grad_norm_per_layer = true;
  return settings;
}

// Off policy from the start: every bound has something to do.
v1::GrpoBatch Batch() {
  const ModelConfig config = reference::TinyConfig();
  return MakeBatch(config, reference::TinyWeights(config, torch::kFloat), /*noise=*/0.3);
}

TEST(LearnerRanks, EveryLossIsTheSameOver124Ranks) {
  const v1::GrpoBatch batch = Batch();
  for (const auto loss : {v1::GrpoSettings::GRPO, v1::GrpoSettings::DR_GRPO, v1::GrpoSettings::DAPO,
                          v1::GrpoSettings::GSPO, v1::GrpoSettings::CISPO}) {
    SCOPED_TRACE(v1::GrpoSettings::Loss_Name(loss));
    v1::GrpoBatch own = batch;
    own.mutable_settings()->set_loss(loss);
    ExpectTheSameOver124Ranks({.token_budget = 24},
                              [&](Learner& learner, int) { return learner.Grpo(own, Settings()); });
  }
}

TEST(LearnerRanks, MinibatchesReferenceAndSequenceTermsAreTheSameOver124Ranks) {
  v1::GrpoBatch batch = Batch();
  v1::GrpoSettings& s = *batch.mutable_settings();
  s.set_loss(v1::GrpoSettings::GSPO);
  s.set_minibatches(4);  // two sequences each: fewer than four ranks
  s.set_kl_beta(0.1);
  s.set_kl_reference("given");
  s.set_entropy_bonus(0.01);
  s.set_importance(v1::GrpoSettings::SEQUENCE_TRUNCATE);
  const ModelConfig config = reference::TinyConfig();
  const ReferenceModel frozen{config, reference::TinyWeights(config, torch::kFloat, /*seed=*/9)};
  ExpectTheSameOver124Ranks({.token_budget = 1 << 20}, [&](Learner& learner, int) {
    return learner.Grpo(batch, Settings(), &frozen);
  });
}

TEST(LearnerRanks, AdaptersLearnTheSameOver124Ranks) {
  const v1::GrpoBatch batch = Batch();
  ExpectTheSameOver124Ranks(
      {.token_budget = 24, .lora = {.rank = 4, .alpha = 8, .targets = {"q_proj", "down_proj"}}},
      [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); });
}

TEST(LearnerRanks, WorkedExamplesAreTheSameOver124Ranks) {
  Philox rng(3, {});
  std::vector<LearnedSequence> examples;
  for (int i = 0; i < 5; ++i) {
    LearnedSequence example{.ids = {}, .learn_from = 3};
    for (int t = 0; t < 6 + 3 * i; ++t) example.ids.push_back(static_cast<int32_t>(rng.Below(97)));
    examples.push_back(std::move(example));
  }
  // The last step has one example: there is nothing to do for the other ranks.
  ExpectTheSameOver124Ranks({}, [&](Learner& learner, int step) {
    return learner.Supervised(
        step < 2 ? examples : std::vector<LearnedSequence>(examples.begin(), examples.begin() + 1),
        Settings());
  });
}

TEST(LearnerRanks, AllRanksSkipWhatOneFindsNotFinite) {
  const v1::GrpoBatch batch = Batch();
  // Only completions that hold this token meet it: those of one micro-batch.
  const int32_t id = batch.groups(0).rollouts(0).ids(0);
  RunAsRanks(2, [&](RankGroup& group) {
    const ModelConfig config = reference::TinyConfig();
    Weights weights = reference::TinyWeights(config, torch::kFloat);
    weights.embed[id].fill_(std::nanf(""));
    const std::vector<float> before = Flat(weights);
    Learner learner(config, weights, {.token_budget = 24, .ranks = &group});
    const UpdateResult result = Must(learner.Grpo(batch, Settings()));
    EXPECT_FALSE(result.applied);
    EXPECT_THAT(result.skip_reason, HasSubstr("the loss is nan"));
    EXPECT_THAT(result.skip_reason, HasSubstr("first at token"));
    EXPECT_EQ(Flat(weights).size(), before.size());
  });
}

TEST(LearnerRanks, ALostRankEndsTheUpdateAndChangesNothing) {
  const v1::GrpoBatch batch = Batch();
  RunAsRanks(3, [&](RankGroup& group) {
    const ModelConfig config = reference::TinyConfig();
    Weights weights = reference::TinyWeights(config, torch::kFloat);
    Learner learner(config, weights, {.token_budget = 24, .ranks = &group});
    ASSERT_TRUE(learner.Grpo(batch, Settings()).ok());
    if (group.rank() == 1) throw Vanish();
    const std::vector<float> before = Flat(weights);
    const absl::Status status = learner.Grpo(batch, Settings()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 is gone"));
    EXPECT_EQ(Flat(weights), before);
  });
}

}  // namespace
}  // namespace whetstone
