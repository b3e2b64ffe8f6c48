#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_trainer/model/decoder_reference.h"
#include "gpu_trainer/train/learner/learner.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

const LoraSettings kAll = {
    .rank = 3,
    .alpha = 6,
    .targets = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}};

std::vector<LearnedSequence> Examples() {
  return {{.ids = {5, 6, 7, 8, 9, 10}, .learn_from = 4},
          {.ids = {5, 6, 70, 71, 72}, .learn_from = 2},
          {.ids = {11, 12, 13}, .learn_from = 1}};
}

UpdateResult Learn(Learner& learner, double lr) {
  StepSettings settings;
  settings.adamw.lr = lr;
  const absl::StatusOr<UpdateResult> result = learner.Supervised(Examples(), settings);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : UpdateResult{};
}

// The test holds the merged pass and its formulas to autograd in fp64 through the unmerged ones.
TEST(LearnerLora, GradientsEqualTheFp64Reference) {
  at::set_num_threads(1);
  const ModelConfig config = reference::TinyConfig(ModelFamily::kQwen2, /*tied=*/false);
  Weights weights = reference::TinyWeights(config, torch::kFloat);
  const Weights base = reference::DoubleLeaves(config, weights);
  Learner learner(config, weights, {.lora = kAll});
  // B must not be zero, or A's gradient is.
  torch::manual_seed(4);
  for (const ShardedTensor& tensor : learner.State()) {
    if (tensor.name.find("lora.") == 0) tensor.mine.copy_(torch::randn_like(tensor.mine) * 0.1);
  }
  learner.StateWasRestored();

  std::vector<torch::Tensor> leaves;
  Weights merged = base;
  for (LayerWeights& layer : merged.layers) {
    layer.qkv = layer.qkv.detach().clone();
    layer.o = layer.o.detach().clone();
    layer.gate_up = layer.gate_up.detach().clone();
    layer.down = layer.down.detach().clone();
  }
  for (const Lora::Adapter& adapter : learner.lora()->adapters()) {
    const torch::Tensor a = adapter.a.to(torch::kDouble).requires_grad_();
    const torch::Tensor b = adapter.b.to(torch::kDouble).requires_grad_();
    leaves.push_back(a);
    leaves.push_back(b);
    LayerWeights& layer = merged.layers[static_cast<size_t>(adapter.layer)];
    torch::Tensor& w = adapter.matrix == FusedMatrix::kQkv      ? layer.qkv
                       : adapter.matrix == FusedMatrix::kO      ? layer.o
                       : adapter.matrix == FusedMatrix::kGateUp ? layer.gate_up
                                                                : layer.down;
    const int64_t rows = b.size(0), after = w.size(0) - adapter.row - rows;
    const torch::Tensor delta = torch::cat({torch::zeros({adapter.row, w.size(1)}, torch::kDouble),
                                            b.mm(a) * 2.0,  // alpha / rank is 2.
                                            torch::zeros({after, w.size(1)}, torch::kDouble)});
    w = w + delta;
  }
  torch::Tensor loss = torch::zeros({}, torch::kDouble);
  double tokens = 0;
  for (const LearnedSequence& s : Examples()) {
    const int64_t n = static_cast<int64_t>(s.ids.size()) - s.learn_from;
    loss = loss - reference::Logprobs(config, merged, s.ids).narrow(0, s.learn_from - 1, n).sum();
    tokens += static_cast<double>(n);
  }
  loss = loss / tokens;
  loss.backward();

  // With these settings a step is the gradient itself.
  StepSettings settings;
  settings.adamw = {.lr = 1e6, .beta1 = 0, .beta2 = 0, .eps = 1e6};
  std::vector<torch::Tensor> before;
  for (const auto& [name, tensor] : learner.lora()->parameters()) before.push_back(tensor.clone());
  const absl::StatusOr<UpdateResult> result = learner.Supervised(Examples(), settings);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->metrics.at("loss"), loss.item<double>(), 1e-5);
  const NamedTensors after = learner.lora()->parameters();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const torch::Tensor moved = (before[i] - after[i].second).to(torch::kDouble);
    const double off = (moved - leaves[i].grad()).norm().item<double>();
    EXPECT_LT(off, 1e-4 * leaves[i].grad().norm().item<double>()) << after[i].first;
  }
}

TEST(LearnerLora, OnlyTheTargetsMoveAndTheyLearn) {
  at::set_num_threads(1);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const ModelConfig config = reference::TinyConfig();
    Weights weights = reference::TinyWeights(config, dtype);
    const Weights origin = reference::TinyWeights(config, dtype);
    Learner learner(config, weights,
                    {.lora = {.rank = 4, .alpha = 8, .targets = {"v_proj", "down_proj"}}});
    EXPECT_TRUE(torch::equal(weights.layers[0].down, origin.layers[0].down));
    const double first = Learn(learner, 1e-2).metrics.at("loss");
    double last = first;
    for (int i = 0; i < 60; ++i) last = Learn(learner, 1e-2).metrics.at("loss");
    EXPECT_LT(last, 0.3 * first);
    const int64_t v = (config.heads + config.kv_heads) * config.head_dim;
    for (size_t l = 0; l < weights.layers.size(); ++l) {
      EXPECT_FALSE(torch::equal(weights.layers[l].down, origin.layers[l].down));
      EXPECT_FALSE(torch::equal(weights.layers[l].qkv, origin.layers[l].qkv));
      EXPECT_TRUE(torch::equal(weights.layers[l].qkv.narrow(0, 0, v),
                               origin.layers[l].qkv.narrow(0, 0, v)));
      EXPECT_TRUE(torch::equal(weights.layers[l].gate_up, origin.layers[l].gate_up));
      EXPECT_TRUE(torch::equal(weights.layers[l].input_norm, origin.layers[l].input_norm));
    }
    EXPECT_TRUE(torch::equal(weights.embed, origin.embed));
  }
}

TEST(LearnerLora, ImpossibleSettingsAreNamed) {
  const ModelConfig config = reference::TinyConfig();
  const auto refused = [&](const LoraSettings& settings, const std::string& text) {
    const absl::Status status = CheckLora(config, settings);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  refused({.rank = 4, .alpha = 8, .targets = {"q_proj", "c_attn"}},
          "no target 'c_attn'; valid: q_proj, k_proj");
  refused({.rank = 4, .alpha = 8, .targets = {}}, "no targets; valid: q_proj");
  refused({.rank = 4, .alpha = 8, .targets = {"q_proj", "q_proj"}}, "named twice");
  refused({.rank = 17, .alpha = 8, .targets = {"k_proj"}}, "rank 17 is above what k_proj");
  refused({.rank = 4, .alpha = 0, .targets = {"k_proj"}}, "must be above 0");
  EXPECT_TRUE(CheckLora(config, {}).ok());
  EXPECT_TRUE(CheckLora(config, kAll).ok());
}

}  // namespace
}  // namespace whetstone
