#include "gpu_trainer/train/pass/attention_flash.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_trainer/kernels/gpu_testing.h"

namespace whetstone {
namespace {

// A prompt of 3 rows has two continuations, of 2 rows and of 1; a last row follows the first of
// them.
const std::vector<Node> kNodes = {
    {.begin = 0, .rows = 3, .parent = -1},
    {.begin = 3, .rows = 2, .parent = 0},
    {.begin = 5, .rows = 1, .parent = 1},
    {.begin = 6, .rows = 1, .parent = 0},
};

TEST(AttentionFlash, RunsAreLaidOutOneAfterTheOther) {
  const FlashRuns runs = LayOutRuns(AttentionRuns(kNodes));
  EXPECT_EQ(runs.query_ends, (std::vector<int32_t>{0, 3, 5, 6, 7}));
  EXPECT_EQ(runs.key_ends, (std::vector<int32_t>{0, 3, 8, 14, 18}));
  EXPECT_EQ(runs.keys, (std::vector<int64_t>{0, 1, 2,           // the prompt
                                             0, 1, 2, 3, 4,     // what continues it
                                             0, 1, 2, 3, 4, 5,  // and that
                                             0, 1, 2, 6}));     // the other
  EXPECT_EQ(runs.queries_max, 3);
  EXPECT_EQ(runs.keys_max, 6);
}

TEST(AttentionFlash, ServesOnlyGpus) {
  const torch::Tensor qkv = torch::zeros({4, 3 * 64}, torch::kBFloat16);
  EXPECT_FALSE(FlashServes({.heads = 1, .kv_heads = 1, .head_dim = 64}, qkv));
}

// Forward and backward are the operators'.
TEST(AttentionFlash, EqualsTheOperators) {
  if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  torch::manual_seed(3);
  const AttentionShape shape = {.heads = 4, .kv_heads = 2, .head_dim = 64};
  const std::vector<Node> nodes = {{.begin = 0, .rows = 130, .parent = -1},
                                   {.begin = 130, .rows = 70, .parent = 0},
                                   {.begin = 200, .rows = 1, .parent = 0},
                                   {.begin = 201, .rows = 40, .parent = 1}};
  const AttentionPlan plan = PlanAttention(nodes, torch::Device(torch::kCUDA, 0));
  const auto options = torch::dtype(torch::kBFloat16).device(torch::kCUDA);
  const torch::Tensor qkv = torch::randn({241, 8 * 64}, options);
  const torch::Tensor dout = torch::randn({241, 4 * 64}, options);
  ASSERT_TRUE(FlashServes(shape, qkv));
  const auto error = [](const torch::Tensor& got, const torch::Tensor& want) {
    const torch::Tensor w = want.to(torch::kDouble);
    return ((got.to(torch::kDouble) - w).norm() / w.norm()).item<double>();
  };
  const AttentionResult got = FlashForward(shape, *plan.flash, qkv);
  const AttentionResult want = AttentionForward(shape, plan, qkv, /*operators_only=*/true);
  EXPECT_LT(error(got.out, want.out), 0.01);
  EXPECT_LT(error(got.log_sum, want.log_sum), 1e-3);
  const torch::Tensor dqkv = FlashBackward(shape, *plan.flash, qkv, got, dout);
  EXPECT_LT(error(dqkv, AttentionBackward(shape, plan, qkv, want, dout, /*operators_only=*/true)),
            0.02);
  EXPECT_TRUE(dqkv.equal(FlashBackward(shape, *plan.flash, qkv, got, dout)));
}

}  // namespace
}  // namespace whetstone
