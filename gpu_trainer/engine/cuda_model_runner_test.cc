// These tests compare generation by the kernels for GPUs, on the emulator and on a GPU, with
// generation by the CPU's own: the tokens are the same where sums are f32, and the distribution is
// the same elsewhere.
#include "gpu_trainer/engine/runner/cuda_model_runner.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/engine/engine_testing.h"
#include "gpu_trainer/engine/runner/graph_runner.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/gpu_testing.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

class CudaModelRunnerTest : public ::testing::TestWithParam<bool> {
 protected:
  static bool OnGpu() { return GetParam(); }
  void SetUp() override {
    if (OnGpu() && !NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  }
  ~CudaModelRunnerTest() override { EmulateKernelsForTesting(nullptr); }

  void MakeModel(const std::string& type, torch::ScalarType dtype) {
    const absl::StatusOr<ModelConfig> config =
        ParseModelConfig(R"({"model_type": ")" + type +
                             R"(", "hidden_size": 48, "num_hidden_layers": 2, "head_dim": 16,
            "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 64,
            "vocab_size": 260, "max_position_embeddings": 300, "eos_token_id": 256})",
                         "test");
    ASSERT_TRUE(config.ok()) << config.status();
    config_ = *config;
    weights_ = RandomWeights(config_, dtype, 5);
    torch::NoGradGuard no_grad;
    for (auto& [name, tensor] : weights_.Named()) {
      if (!absl::EndsWith(name, "norm")) tensor.mul_(8);
    }
    tokenizer_ = *Tokenizer::Parse(ByteTokenizerJson(), "test");
  }

  GenerateSpec Spec() const {
    GenerateSpec spec;
    spec.seed = 3;
    spec.step = 2;
    spec.sampling.max_new_tokens = 12;
    spec.sampling.ignore_eos = true;
    // One prompt is longer than a KV split, and slots are used again.
    for (const int length : {3, 140}) {
      PromptGroupSpec group;
      group.group_index = length;
      group.ids = tokenizer_->Encode(std::string(static_cast<size_t>(length), 'a') + "bc");
      group.samples = {0, 1, 2};
      spec.groups.push_back(group);
    }
    spec.memory.sequences_max = 5;
    return spec;
  }

  // Returns the weights on the device whose kernels are tested.
  Weights OnDevice() const {
    if (!OnGpu()) return weights_;
    return CopyWeights(config_, weights_, weights_.dtype(), torch::Device(torch::kCUDA, 0));
  }

  using Completions = std::map<std::pair<int, int>, Completion>;
  // Generates by the CPU's own means, or by the kernels.
  Completions Run(const GenerateSpec& spec, bool kernels) {
    EmulateKernelsForTesting(kernels && !OnGpu() ? &emulated::Kernels() : nullptr);
    const Weights weights = kernels ? OnDevice() : weights_;
    Engine engine(config_, weights, *tokenizer_, {.prompt_lookup = false});
    Completions all;
    GenerateStatus last;
    const absl::Status status =
        engine.Generate(spec, {.on_completion =
                                   [&](Completion c) {
                                     all[{c.group_index, c.sample}] = std::move(c);
                                   },
                               .on_progress = [&](const GenerateStatus& now) { last = now; },
                               .cancelled = {}});
    EXPECT_TRUE(status.ok()) << status;
    // Each of a few buckets is run plainly once.
    if (kernels && OnGpu()) {
      EXPECT_GT(last.graph_steps, last.steps / 2);
    }
    return all;
  }

  void ExpectSameTokens(const GenerateSpec& spec) {
    const Completions plain = Run(spec, false), emulated = Run(spec, true);
    ASSERT_EQ(emulated.size(), 6u);
    for (const auto& [key, completion] : emulated) {
      const Completion& want = plain.at(key);
      ASSERT_EQ(completion.ids, want.ids);
      for (size_t i = 0; i < want.logprobs.size(); ++i) {
        EXPECT_NEAR(completion.logprobs[i], want.logprobs[i], 1e-4);
      }
    }
  }

  ModelConfig config_;
  Weights weights_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

INSTANTIATE_TEST_SUITE_P(Devices, CudaModelRunnerTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Gpu" : "Emulator"; });

TEST_P(CudaModelRunnerTest, DrawsWhatTheOperatorsDraw) {
  for (const char* type : {"qwen2", "qwen3"}) {
    SCOPED_TRACE(type);
    MakeModel(type, torch::kFloat);
    ExpectSameTokens(Spec());
  }
}

// The parts of a step replayed from a graph can not be told apart: it is one, with all their work.
TEST_P(CudaModelRunnerTest, AProfileCountsAStepAsOnePart) {
  MakeModel("qwen2", torch::kFloat);
  const auto profile_of = [&](bool kernels) {
    StepProfile profile;
    {
      const ProfileCollection collecting(&profile);
      Run(Spec(), kernels);
    }
    return profile;
  };
  const StepProfile operators = profile_of(false), kernels = profile_of(true);
  const PartUse &matmul = operators.of(Part::kDecodeMatmul),
                &attention = operators.of(Part::kDecodeAttention),
                &step = kernels.of(Part::kDecodeStep);
  EXPECT_DOUBLE_EQ(step.flops, matmul.flops + attention.flops);
  EXPECT_DOUBLE_EQ(step.bytes, matmul.bytes + attention.bytes);
  EXPECT_EQ(step.calls, matmul.calls);
  EXPECT_EQ(operators.of(Part::kDecodeStep).calls, 0);
  for (const Part part : {Part::kDecodeMatmul, Part::kDecodeAttention}) {
    EXPECT_EQ(kernels.of(part).calls, 0) << NameOf(part);
  }
}

TEST_P(CudaModelRunnerTest, GreedyAndTruncatedSampling) {
  MakeModel("qwen2", torch::kFloat);
  GenerateSpec spec = Spec();
  spec.sampling.temperature = 0;
  ExpectSameTokens(spec);
  spec.sampling.temperature = 0.9;
  spec.sampling.top_p = 0.8;
  ExpectSameTokens(spec);
}

TEST_P(CudaModelRunnerTest, LogprobsAreThoseOfAPrefill) {
  MakeModel("qwen2", torch::kBFloat16);
  const GenerateSpec spec = Spec();
  const Completions all = Run(spec, true);
  EmulateKernelsForTesting(nullptr);
  Engine engine(config_, weights_, *tokenizer_);
  for (const auto& [key, completion] : all) {
    const std::vector<int32_t>& prompt = spec.groups[key.first == 3 ? 0 : 1].ids;
    std::vector<int32_t> ids = prompt;
    ids.insert(ids.end(), completion.ids.begin(), completion.ids.end());
    const auto scored = engine.Score(ids);
    ASSERT_TRUE(scored.ok()) << scored.status();
    double ratio = 0;
    for (size_t i = 0; i < completion.ids.size(); ++i) {
      ratio += std::exp(std::abs(completion.logprobs[i] - (*scored)[prompt.size() - 1 + i]));
    }
    EXPECT_LE(ratio / static_cast<double>(completion.ids.size()), 1.05);
  }
}

// A kernel that can not be launched is seen on the trial: the operators do the work. The broken
// kernel is the emulator's.
using EmulatedModelRunnerTest = CudaModelRunnerTest;
INSTANTIATE_TEST_SUITE_P(Devices, EmulatedModelRunnerTest, ::testing::Values(false),
                         [](const auto&) { return "Emulator"; });

TEST_P(EmulatedModelRunnerTest, FallsBackWhenAKernelFails) {
  MakeModel("qwen2", torch::kFloat);
  const GenerateSpec spec = Spec();
  const Completions plain = Run(spec, false);
  static CudaKernels broken;
  broken = emulated::Kernels();
  broken.merge_splits = [](const MergeSplitsArgs&, CudaStreamHandle) -> LaunchError {
    return "no kernel image is available";
  };
  const RopeTable rope = MakeRopeTable(config_, 300, torch::kCPU);
  const ModelRunnerOptions options = {.slots = 2, .suffix_tokens = 4, .prefix_tokens = 4};
  EmulateKernelsForTesting(&emulated::Kernels());
  EXPECT_NE(CudaModelRunner::Make(config_, weights_, rope, options), nullptr);
  EmulateKernelsForTesting(&broken);
  EXPECT_EQ(CudaModelRunner::Make(config_, weights_, rope, options), nullptr);
  EXPECT_EQ(KernelsFor(torch::kCPU), nullptr);
  // That stays so until the process ends.
  Engine engine(config_, weights_, *tokenizer_, {.prompt_lookup = false});
  Completions all;
  ASSERT_TRUE(engine
                  .Generate(spec, {.on_completion =
                                       [&](Completion c) {
                                         all[{c.group_index, c.sample}] = std::move(c);
                                       },
                                   .on_progress = {},
                                   .cancelled = {}})
                  .ok());
  for (const auto& [key, completion] : all) {
    EXPECT_EQ(completion.ids, plain.at(key).ids);
    EXPECT_EQ(completion.logprobs, plain.at(key).logprobs);
  }
}

TEST_P(CudaModelRunnerTest, DamagedWeightsAreReported) {
  MakeModel("qwen2", torch::kFloat);
  {
    torch::NoGradGuard no_grad;
    weights_.final_norm.fill_(NAN);
  }
  if (!OnGpu()) EmulateKernelsForTesting(&emulated::Kernels());
  const Weights weights = OnDevice();
  Engine engine(config_, weights, *tokenizer_);
  EXPECT_EQ(engine.Generate(Spec(), {}).code(), absl::StatusCode::kInternal);
}

TEST(GraphRunnerTest, WithoutAGpuWorkIsRunPlainly) {
  GraphRunner runner(torch::kCPU, /*graphs=*/true);
  int runs = 0;
  for (int i = 0; i < 3; ++i) runner.Run(1, [&] { ++runs; });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(runner.plain(), 3);
  EXPECT_EQ(runner.replayed(), 0);
}

// A generation has a runner of its own. cuBLAS keeps a workspace (32 MiB on an H100) for every
// stream that it has worked on.
TEST(GraphRunnerTest, GraphsOfManyGenerationsComputeWhatIsNewAndGiveTheirMemoryBack) {
  if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  const torch::Device gpu(torch::kCUDA, 0);
  const auto options = torch::TensorOptions(gpu).dtype(torch::kFloat);
  const torch::Tensor in = torch::zeros({64, 64}, options), out = torch::zeros({64, 64}, options);
  const torch::Tensor weights = torch::full({64, 64}, 0.5, options);
  // What tensors of this process hold, those of libraries among them.
  const auto held = [&] {
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return c10::getDeviceAllocator(gpu.type())->getDeviceStats(0).allocated_bytes[all].current;
  };
  int64_t after_two = 0;
  for (int generation = 0; generation < 12; ++generation) {
    {
      GraphRunner runner(gpu, /*graphs=*/true);
      for (int step = 1; step <= 4; ++step) {
        in.fill_(step + generation);
        runner.Run(64, [&] { out.copy_(torch::matmul(in, weights) + 1); });
        WaitForDevice(gpu);
        EXPECT_TRUE(torch::equal(out, torch::full_like(out, 32.0 * (step + generation) + 1)));
      }
      EXPECT_EQ(runner.plain(), 1);
      EXPECT_EQ(runner.replayed(), 3);
    }
    if (generation == 1) after_two = held();
  }
  EXPECT_LE(held(), after_two);
}

}  // namespace
}  // namespace whetstone
