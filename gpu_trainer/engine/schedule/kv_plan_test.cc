#include "gpu_trainer/engine/schedule/kv_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu_trainer/engine/cache/kv_cache.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

class KvPlanTest : public ::testing::Test {
 protected:
  KvPlanTest() {
    config_.layers = 2;
    config_.heads = 4;
    config_.kv_heads = 2;
    config_.head_dim = 16;
    config_.context = 1000;
    spec_.sampling.max_new_tokens = 64;
    spec_.groups = {
        {.group_index = 0, .ids = std::vector<int32_t>(128, 1), .samples = {0, 1, 2, 3}},
        {.group_index = 1, .ids = std::vector<int32_t>(64, 1), .samples = {0, 1}}};
  }

  absl::StatusOr<KvPlan> Plan(int64_t bytes) const {
    return PlanKv(spec_, config_, torch::kFloat, bytes);
  }
  int64_t Bytes(int64_t tokens) const { return KvBytes(config_, torch::kFloat, tokens); }

  ModelConfig config_;
  GenerateSpec spec_;
};

TEST_F(KvPlanTest, AsManySlotsAsThereIsMemoryFor) {
  // A sequence takes a slot with a block of the prompt, and a fourth of the longest prompt, which
  // is more than half of the other.
  const int64_t sequence = Bytes(64 + 63) + Bytes(128) / 4;
  for (const int64_t slots : {2, 3, 5}) {
    const auto plan = Plan(slots * sequence);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->slots, slots);
    EXPECT_EQ(plan->prefix_tokens, 128);
    EXPECT_EQ(plan->suffix_tokens, 64);
    EXPECT_EQ(Plan(slots * sequence + sequence - 1)->slots, slots);
  }
  EXPECT_EQ(Plan(int64_t{1} << 40)->slots, 6);  // More were not asked for.
  spec_.memory.sequences_max = 4;
  EXPECT_EQ(Plan(int64_t{1} << 40)->slots, 4);
}

TEST_F(KvPlanTest, OneSequenceMustFit) {
  const int64_t one = Bytes(64 + 63) + Bytes(128);
  EXPECT_GE(Plan(one)->slots, 1);
  spec_.memory.kv_bytes_max = one - 1;
  const absl::Status status = Plan(KvBytesAllowed(spec_.memory, torch::kCPU)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a prompt of 128 tokens and 64 new ones"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("MiB are allowed"));
}

TEST_F(KvPlanTest, NothingAskedForNeedsNoMemory) {
  spec_.groups = {{.group_index = 0, .ids = {1}, .samples = {}}};
  EXPECT_EQ(Plan(0)->slots, 0);
}

TEST_F(KvPlanTest, ProcessesShareWhatIsFree) {
  EXPECT_EQ(KvBytesAllowed({.kv_bytes_max = 77, .processes = 4}, torch::kCPU), 77);
  EXPECT_EQ(KvBytesAllowed({.reserved_bytes = int64_t{1} << 60}, torch::kCPU), 0);
  EXPECT_GT(KvBytesAllowed({}, torch::kCPU), 0);
}

}  // namespace
}  // namespace whetstone
