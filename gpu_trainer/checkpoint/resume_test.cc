// These tests learn a task with a known optimum, through a checkpoint in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gpu_trainer/checkpoint/checkpoint.h"
#include "gpu_trainer/checkpoint/kl_reference.h"
#include "gpu_trainer/train/learner/learner_testing.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using S = v1::GrpoSettings;

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    absl::StatusOr<TempDir> dir = TempDir::Make("resume");
    ASSERT_TRUE(dir.ok());
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    SaveModel("origin", 97);
  }

  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }

  void SaveModel(const std::string& name, int vocab) {
    const absl::StatusOr<ModelConfig> config = ParseModelConfig(
        absl::StrCat(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
          "hidden_act": "silu", "hidden_size": 36, "intermediate_size": 52,
          "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
          "head_dim": 8, "max_position_embeddings": 256, "rms_norm_eps": 1e-6,
          "rope_theta": 10000.0, "tie_word_embeddings": true, "vocab_size": )",
                     vocab, "}"),
        "test");
    ASSERT_TRUE(config.ok()) << config.status();
    const absl::Status saved = SaveWeights(
        Path(name), *config, reference::TinyWeights(*config, torch::kFloat), torch::kFloat);
    ASSERT_TRUE(saved.ok()) << saved;
  }

  std::unique_ptr<Policy> Load(const std::string& name) {
    absl::StatusOr<std::unique_ptr<Policy>> policy =
        LoadPolicy(Path(name), torch::kFloat, torch::kCPU, {});
    EXPECT_TRUE(policy.ok()) << policy.status();
    return policy.ok() ? *std::move(policy) : nullptr;
  }

  // Brings the policy back as another process would find it.
  void SaveAndLoad(std::unique_ptr<Policy>& policy) {
    ASSERT_TRUE(SaveCheckpoint(*policy, Path("saved")).ok());
    policy = Load("saved");
  }

  // Takes one step of the toy task and returns its mean reward. `dense` rewards by the first
  // token's id, so that every group has spread.
  static double Step(Policy& policy, Philox& rng, const S& changes, bool dense = false) {
    double mean = 0;
    v1::GrpoBatch batch = ToyBatch(policy.config, policy.weights, rng, &mean);
    for (v1::Rollout& r : *batch.mutable_groups(0)->mutable_rollouts()) {
      if (dense) r.set_reward(r.ids(0));
    }
    batch.mutable_settings()->MergeFrom(changes);
    EXPECT_TRUE(SetKlReference(changes.kl_reference(), policy).ok());
    StepSettings settings;
    settings.adamw.lr = 2e-2;
    settings.max_grad_norm = 1;
    settings.spike_factor = 50;
    Must(policy.learner().Grpo(batch, settings, policy.reference.get()));
    return mean;
  }

  std::unique_ptr<TempDir> dir_;
};

// 30 steps are about twice what each loss needs.
TEST_F(ResumeTest, AToyTaskIsLearnedByEachLossAcrossACheckpoint) {
  for (const S::Loss loss : {S::GRPO, S::DR_GRPO, S::DAPO, S::GSPO, S::CISPO}) {
    SCOPED_TRACE(S::Loss_Name(loss));
    std::unique_ptr<Policy> policy = Load("origin");
    Philox rng(5, {9, 9, 9, 9});
    S changes;
    changes.set_loss(loss);
    changes.set_max_new_tokens(4);
    double before = 0, mean = 0;
    for (int step = 0; step < 30; ++step) {
      if (step == 12) SaveAndLoad(policy);
      mean = Step(*policy, rng, changes);
      if (step == 0) before = mean;
    }
    EXPECT_LT(before, 1);
    EXPECT_GT(mean, 3);
  }
}

TEST_F(ResumeTest, ResumingIsExactWithEveryKindOfState) {
  S changes;
  changes.set_loss(S::GSPO);
  changes.set_minibatches(2);
  changes.set_kl_beta(0.05);
  changes.set_kl_reference(Path("origin"));
  const auto run = [&](bool resumed) {
    std::unique_ptr<Policy> policy = Load("origin");
    Philox rng(3, {1, 2, 3, 4});
    for (int step = 0; step < 6; ++step) {
      if (resumed && step == 3) SaveAndLoad(policy);
      Step(*policy, rng, changes, /*dense=*/true);
    }
    return policy;
  };
  const std::unique_ptr<Policy> straight = run(false), resumed = run(true);
  EXPECT_EQ(Flat(straight->learner().optimizer().Masters()),
            Flat(resumed->learner().optimizer().Masters()));
  EXPECT_EQ(straight->learner().outlier_filter().state(),
            resumed->learner().outlier_filter().state());
  EXPECT_EQ(straight->learner().outlier_filter().state().norms.size(), 12u);
  EXPECT_EQ(resumed->reference_path, Path("origin"));
}

TEST_F(ResumeTest, TheReferenceIsHeldWhileItIsAskedFor) {
  const std::unique_ptr<Policy> policy = Load("origin");
  ASSERT_TRUE(SetKlReference(Path("origin"), *policy).ok());
  const ReferenceModel* held = policy->reference.get();
  ASSERT_NE(held, nullptr);
  fs::rename(Path("origin"), Path("moved"));
  EXPECT_TRUE(SetKlReference(Path("origin"), *policy).ok()) << "nothing is read a second time";
  EXPECT_EQ(policy->reference.get(), held);

  const absl::Status missing = SetKlReference(Path("nowhere"), *policy);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("kl_reference"));
  SaveModel("foreign", 98);
  EXPECT_THAT(std::string(SetKlReference(Path("foreign"), *policy).message()),
              HasSubstr("vocabulary has 98 tokens, the policy's 97"));
  EXPECT_EQ(policy->reference.get(), held) << "the one before stays";

  ASSERT_TRUE(SaveCheckpoint(*policy, Path("saved")).ok());
  EXPECT_TRUE(SetKlReference(Path("saved"), *policy).ok());
  EXPECT_TRUE(SetKlReference("", *policy).ok());
  EXPECT_EQ(policy->reference, nullptr);
  fs::resize_file(Path("saved/model.safetensors"), 100);
  EXPECT_THAT(std::string(SetKlReference(Path("saved"), *policy).message()),
              HasSubstr("model.safetensors"));
}

}  // namespace
}  // namespace whetstone
