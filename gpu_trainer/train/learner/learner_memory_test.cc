// These tests bound the memory of an update. The head's logits are the one thing of size vocabulary
// × tokens, and never exist as a whole; ranks that share the optimizer's state hold a share of it.
// Every allocation of LibTorch's is watched, forward, backward and optimizer step.
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "gpu_trainer/distributed/ranks_testing.h"
#include "gpu_trainer/model/decoder_reference.h"
#include "gpu_trainer/train/learner/learner.h"
#include "gpu_trainer/train/parallel/fsdp_shards.h"

namespace whetstone {
namespace {

// The meter sees what the calling thread allocates while a guard holds it.
class AllocationMeter : public c10::MemoryReportingInfoBase {
 public:
  // alloc_size is in bytes, negative when they are freed.
  void reportMemoryUsage(void*, int64_t alloc_size, size_t, size_t, c10::Device) override {
    live_ += alloc_size;
    peak_ = std::max(peak_, live_);
    largest_ = std::max(largest_, alloc_size);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t live_bytes() const { return live_; }
  int64_t peak_bytes() const { return peak_; }
  int64_t largest_bytes() const { return largest_; }

 private:
  int64_t live_ = 0, peak_ = 0, largest_ = 0;
};

constexpr int64_t kVocabulary = 20000;

std::shared_ptr<AllocationMeter> MeterOfUpdate(int64_t sequences, int64_t length) {
  at::set_num_threads(1);  // Then this thread allocates everything.
  ModelConfig config = reference::TinyConfig();
  config.vocab = kVocabulary;
  Weights weights = reference::TinyWeights(config, torch::kFloat);
  Learner learner(config, weights, {.token_budget = 1 << 20});
  Philox rng(9, {0, 0, 0, 0});
  std::vector<LearnedSequence> batch(static_cast<size_t>(sequences));
  for (LearnedSequence& sequence : batch) {
    for (int64_t i = 0; i < length; ++i) {
      sequence.ids.push_back(static_cast<int32_t>(rng.Below(kVocabulary)));
    }
    sequence.learn_from = 1;
  }
  auto meter = std::make_shared<AllocationMeter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, meter);
  const auto result = learner.Supervised(batch, StepSettings{});
  EXPECT_TRUE(result.ok()) << result.status();
  return meter;
}

TEST(LearnerMemory, DoesNotGrowWithVocabularyTimesTokens) {
  constexpr int64_t kFew = 4 * 250, kMany = 16 * 250;
  const auto few = MeterOfUpdate(4, 250), many = MeterOfUpdate(16, 250);
  const int64_t logits_bytes = kVocabulary * kMany * 4;
  const int64_t more_logits_bytes = kVocabulary * (kMany - kFew) * 4;
  EXPECT_GT(few->peak_bytes(), kVocabulary * 36 * 4);  // The meter sees the gradients at least.
  EXPECT_LT(many->largest_bytes(), logits_bytes / 4);
  EXPECT_LT(many->peak_bytes() - few->peak_bytes(), more_logits_bytes / 8);
}

TEST(LearnerMemory, AShareOfTheOptimizersStateIsAsTheArithmeticSays) {
  ModelConfig config = reference::TinyConfig();
  config.vocab = kVocabulary;
  struct Kind {
    torch::ScalarType dtype;
    MomentType moments;
    // A parameter takes so many: moments, their scales, the rest of the master.
    double bytes;
  };
  for (const Kind& kind :
       {Kind{torch::kBFloat16, MomentType::kFp32, 8 + 2},
        Kind{torch::kBFloat16, MomentType::kBf16, 4 + 2},
        Kind{torch::kBFloat16, MomentType::kEightBit, 2 + 8.0 / 256 + 2},
        Kind{torch::kHalf, MomentType::kFp32, 8 + 4}, Kind{torch::kFloat, MomentType::kFp32, 8}}) {
    for (const int ranks : {1, 2, 4}) {
      RunAsRanks(ranks, [&](RankGroup& group) {
        Weights weights = reference::TinyWeights(config, kind.dtype);
        double parameters = 0;
        for (const auto& [name, tensor] : weights.Named()) {
          parameters += static_cast<double>(tensor.numel());
        }
        auto meter = std::make_shared<AllocationMeter>();
        const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, meter);
        const Learner learner(
            config, weights,
            {.optimizer_state = kind.moments, .ranks = &group, .sharding = Sharding::kOptimizer});
        const double gradients = 4 * parameters;
        const double want = kind.bytes * parameters / ranks;
        EXPECT_NEAR(static_cast<double>(meter->live_bytes()) - gradients, want, 0.1 * want)
            << NameOf(kind.moments) << ", rank " << group.rank() << " of " << ranks;
      });
    }
  }
}

// A rank holds its slices of all, three layers and what belongs to none.
TEST(LearnerMemory, AShareOfTheGradientsIsAsTheArithmeticSays) {
  ModelConfig config = reference::TinyConfig();
  config.hidden = 256;
  config.intermediate = 1024;
  config.layers = 16;
  for (const int ranks : {1, 2, 4}) {
    RunAsRanks(ranks, [&](RankGroup& group) {
      Weights weights = reference::TinyWeights(config, torch::kBFloat16);
      const auto held = [&](Sharding sharding) {
        auto meter = std::make_shared<AllocationMeter>();
        const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, meter);
        const Learner learner(config, weights, {.ranks = &group, .sharding = sharding});
        return static_cast<double>(meter->live_bytes());
      };
      const auto all = static_cast<double>(config.parameters());
      const auto ends = static_cast<double>(config.hidden + config.vocab * config.hidden);
      const double layer = (all - ends) / static_cast<double>(config.layers);
      const double want = ranks == 1 ? 4 * all : 4 * (all / ranks + ends + 3 * layer);
      const double got = held(Sharding::kGradients) - held(Sharding::kOptimizer) + 4 * all;
      EXPECT_NEAR(got, want, 0.1 * want) << "rank " << group.rank() << " of " << ranks;
    });
  }
}

// During an update a rank holds its slices of the layers, three layers, and what belongs to none.
TEST(LearnerMemory, AShareOfTheWeightsIsAsTheArithmeticSays) {
  ModelConfig config = reference::TinyConfig();
  config.hidden = 256;
  config.intermediate = 1024;
  config.layers = 16;
  for (const int ranks : {2, 4}) {
    RunAsRanks(ranks, [&](RankGroup& group) {
      const auto kind = c10::DebugInfoKind::PROFILER_STATE;
      // Only what was allocated beside a meter is seen when it goes; the weights need one of their
      // own, as making them takes more than they are.
      const c10::DebugInfoGuard making(kind, std::make_shared<AllocationMeter>());
      const Weights weights = reference::TinyWeights(config, torch::kBFloat16);
      auto meter = std::make_shared<AllocationMeter>();
      const c10::DebugInfoGuard guard(kind, meter);
      FsdpShards shards(weights, group);
      const auto all = static_cast<double>(config.parameters());
      const auto ends = static_cast<double>(config.hidden + config.vocab * config.hidden);
      const double layer = (all - ends) / static_cast<double>(config.layers);
      const auto held = [&] { return 2 * all + static_cast<double>(meter->live_bytes()); };
      const absl::Status sharded = shards.Shard();
      EXPECT_TRUE(sharded.ok()) << sharded;
      for (size_t l = 0; l < weights.layers.size(); ++l) {
        shards.GatherLayer(
            l, l + 1 < weights.layers.size() ? std::make_optional(l + 1) : std::nullopt);
      }
      EXPECT_TRUE(shards.status().ok()) << shards.status();
      const double want = 2 * ((all - ends) / ranks + ends + 3 * layer);
      EXPECT_NEAR(held(), want, 0.1 * want) << "rank " << group.rank() << " of " << ranks;
      const absl::Status whole = shards.Unshard();
      EXPECT_TRUE(whole.ok()) << whole;
      EXPECT_NEAR(held(), 2 * all, 0.1 * 2 * all);
      // The most is taken when the last layer is back: three, and what Gloo copies of those on the
      // way.
      EXPECT_LT(static_cast<double>(meter->peak_bytes()), 1.1 * 2 * 5 * layer);
    });
  }
}

}  // namespace
}  // namespace whetstone
