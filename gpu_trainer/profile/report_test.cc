#include "gpu_trainer/profile/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The machine computes 100 GFLOP/s in bf16 and reads 10 GB/s.
MachineSpeed Machine() {
  MachineSpeed machine;
  machine.matmul = {{"fp32", 512, 30}, {"bf16", 512, 80}, {"bf16", 1024, 100}};
  machine.read_gb_s = 10;
  return machine;
}

ProfiledStep Step(Part part, const PartUse& use) {
  ProfiledStep step;
  step.dtype = "bf16";
  step.sequences = 16;
  step.peak_bytes = int64_t{3} << 30;
  step.headroom_bytes = int64_t{5} << 29;
  step.profile.of(part) = use;
  return step;
}

TEST(ReportTest, SharesAndMfuOfAKnownProfile) {
  ProfiledStep step = Step(Part::kDecodeMatmul, {.seconds = 2, .flops = 20e9, .bytes = 15e9});
  step.profile.of(Part::kForwardMatmul) = {.seconds = 1, .flops = 80e9};
  step.profile.of(Part::kOther) = {.seconds = 1};
  const MachineSpeed machine = Machine();
  // The share is the larger of 0.2 s for the operations and 1.5 s for the bytes, of 2 s.
  EXPECT_DOUBLE_EQ(RooflineShare(step.profile.of(Part::kDecodeMatmul), machine, "bf16"), 0.75);
  EXPECT_DOUBLE_EQ(RooflineShare(step.profile.of(Part::kForwardMatmul), machine, "bf16"), 0.8);
  EXPECT_DOUBLE_EQ(RooflineShare(step.profile.of(Part::kOther), machine, "bf16"), 0);
  const nlohmann::ordered_json json = ReportJson(step, machine);
  EXPECT_DOUBLE_EQ(json["step_s"], 4);
  EXPECT_DOUBLE_EQ(json["mfu"], 0.25) << "100 GFLOP in 4 s of 100 GFLOP/s";
  EXPECT_DOUBLE_EQ(json["peak_gib"], 3);
  EXPECT_DOUBLE_EQ(json["headroom_gib"], 2.5);
  EXPECT_EQ(json["parts"].size(), 3u);
  EXPECT_EQ(json["parts"][0]["part"], "decode matmul");
  EXPECT_DOUBLE_EQ(json["parts"][0]["share"], 0.5);
  EXPECT_DOUBLE_EQ(json["parts"][0]["gbyte_per_s"], 7.5);

  const std::map<std::string, double> metrics = ReportMetrics(step, machine);
  EXPECT_DOUBLE_EQ(metrics.at("profile/decode_matmul_s"), 2);
  EXPECT_DOUBLE_EQ(metrics.at("profile/decode_matmul_roofline"), 0.75);
  EXPECT_DOUBLE_EQ(metrics.at("profile/forward_matmul_gflop"), 80);
  EXPECT_DOUBLE_EQ(metrics.at("profile/mfu"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("profile/computed_s"), 4);
  EXPECT_DOUBLE_EQ(metrics.at("profile/headroom_gib"), 2.5);
  EXPECT_EQ(metrics.count("profile/other_roofline"), 0u) << "what was not counted has no share";
  EXPECT_EQ(metrics.count("profile/prefill_s"), 0u);

  const std::string text = ReportText(step, machine);
  EXPECT_THAT(text, HasSubstr("75%"));
  EXPECT_THAT(text, HasSubstr("MFU 25.0 % of 100 GFLOP/s (bf16)"));
  EXPECT_THAT(text, HasSubstr(Bottleneck(step, machine)));
}

TEST(ReportTest, TheSentenceNamesPartBoundAndSetting) {
  struct Case {
    Part part;
    PartUse use;
    const char* bound;
    const char* setting;
  };
  const PartUse compute{.seconds = 1, .flops = 70e9, .bytes = 1e9};
  const PartUse memory{.seconds = 1, .flops = 10e9, .bytes = 8e9};
  const PartUse overhead{.seconds = 1, .flops = 10e9, .bytes = 1e9};
  for (const Case& c : {
           Case{Part::kDecodeMatmul, memory, "memory bandwidth",
                "reads all weights for 16 sequences; a larger train.group_size"},
           Case{Part::kDecodeMatmul, overhead, "overhead", "train.group_size"},
           Case{Part::kDecodeMatmul, compute, "compute", "generate.max_new_tokens"},
           Case{Part::kDecodeAttention, memory, "memory bandwidth", "generate.max_new_tokens"},
           Case{Part::kPrefill, compute, "compute", "train.group_size"},
           Case{Part::kDecodeStep, memory, "memory bandwidth", "reads all weights"},
           Case{Part::kSampling, overhead, "overhead", "generate.top_p"},
           Case{Part::kInput, overhead, "overhead", "shorter prompts"},
           Case{Part::kForwardMatmul, compute, "compute", "local.threads"},
           Case{Part::kForwardMatmul, overhead, "overhead", "train.token_budget"},
           Case{Part::kWeightGradient, compute, "compute", "train.lora.rank"},
           Case{
               Part::kRecompute, {.seconds = 1}, "compute", "train.activation_checkpointing: none"},
           Case{Part::kElementwise, memory, "memory bandwidth", "train.token_budget"},
           Case{Part::kOptimizer, memory, "memory bandwidth", "train.lora.rank"},
           Case{Part::kCommunication, memory, "communication", "summed over the ranks"},
           Case{Part::kWaiting, {.seconds = 1}, "communication", "train.token_budget"},
           Case{Part::kOther, {.seconds = 1}, "overhead", "train.group_size"},
       }) {
    ProfiledStep step = Step(c.part, c.use);
    step.truncates = true;
    step.profile.of(Part::kHead) = {.seconds = 0.25, .flops = 1};
    const std::string sentence = Bottleneck(step, Machine());
    EXPECT_THAT(sentence,
                HasSubstr(std::string("The longest part is ") + NameOf(c.part) + " (80 %"));
    EXPECT_THAT(sentence, HasSubstr(std::string("bound by ") + c.bound + ": "));
    EXPECT_THAT(sentence, HasSubstr(c.setting));
    EXPECT_THAT(sentence, Not(HasSubstr("8bit"))) << "refused on a GPU, slower on a CPU";
  }
}

TEST(ReportTest, AdviceKnowsAdaptersAndHowMuchIsGeneration) {
  ProfiledStep step = Step(Part::kWeightGradient, {.seconds = 3, .flops = 250e9});
  step.profile.of(Part::kPrefill) = {.seconds = 1, .flops = 1};
  EXPECT_THAT(Bottleneck(step, Machine()), HasSubstr("generation has 25 %"));
  EXPECT_THAT(Bottleneck(step, Machine()), HasSubstr("train.lora.rank"));
  step.adapters_only = true;
  EXPECT_THAT(Bottleneck(step, Machine()), ::testing::Not(HasSubstr("train.lora.rank")));
  EXPECT_EQ(Bottleneck({}, Machine()), "Nothing was measured.");
}

// 8-bit moments are refused on a GPU, and slower than fp32 on a CPU: they save memory, not time.
TEST(ReportTest, AdvisesNothingThatCanNotBeFollowedOrHelpsNot) {
  const PartUse use{.seconds = 1, .flops = 10e9, .bytes = 8e9};
  for (int i = 0; i < kParts; ++i) {
    ProfiledStep step = Step(static_cast<Part>(i), use);
    for (const bool on_gpu : {false, true}) {
      step.on_gpu = on_gpu;
      const std::string sentence = Bottleneck(step, Machine());
      EXPECT_THAT(sentence, Not(HasSubstr("optimizer_state")));
      EXPECT_THAT(sentence, Not(HasSubstr("top_p"))) << "the whole softmax is sampled already";
      if (on_gpu) {
        EXPECT_THAT(sentence, Not(HasSubstr("local.threads"))) << "the GPU computes";
        EXPECT_THAT(sentence, Not(HasSubstr("caches")));
      }
    }
    step.adapters_only = true;
    EXPECT_THAT(Bottleneck(step, Machine()), Not(HasSubstr("lora"))) << "adapters alone learn";
  }
}

TEST(ReportTest, SaysWhoseMemoryItIs) {
  ProfiledStep step = Step(Part::kHead, {.seconds = 1, .flops = 1});
  EXPECT_THAT(ReportText(step, Machine()), HasSubstr("peak memory 3.00 GiB"));
  step.on_gpu = true;
  EXPECT_THAT(ReportText(step, Machine()), HasSubstr("peak GPU memory 3.00 GiB"));
}

TEST(MachineTest, MeasuresWhatIsAskedFor) {
  const MachineSpeed all = MeasureMachine(torch::kCPU, 0.2);
  for (const char* dtype : {"fp32", "fp16", "bf16"}) EXPECT_GT(all.BestGflops(dtype), 0) << dtype;
  EXPECT_EQ(all.BestGflops("tf32"), 0) << "a CPU has none";
  EXPECT_GT(all.read_gb_s, 0.1);
  EXPECT_GT(all.operator_overhead_us, 0);
  const MachineSpeed one = MeasureMachine(torch::kCPU, 0.1, {"bf16"});
  EXPECT_GT(one.BestGflops("bf16"), 0);
  EXPECT_EQ(one.BestGflops("fp32"), 0);
}

}  // namespace
}  // namespace whetstone
