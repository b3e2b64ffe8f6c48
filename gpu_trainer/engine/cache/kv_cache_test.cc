#include "gpu_trainer/engine/cache/kv_cache.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <utility>
#include <vector>

#include "gpu_trainer/kernels/linear.h"

namespace whetstone {
namespace {

class KvCacheTest : public ::testing::TestWithParam<torch::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Types, KvCacheTest, ::testing::Values(torch::kFloat, torch::kBFloat16),
                         [](const auto& info) {
                           return info.param == torch::kFloat ? "Float32" : "BFloat16";
                         });

TEST_P(KvCacheTest, PackedEqualsTheReference) {
  if (!IsBatchInvariant(torch::kCPU, GetParam())) {
    GTEST_SKIP() << "this processor has no kernels for it, so there is no packed cache";
  }
  ModelConfig config;
  config.layers = 2;
  config.heads = 6;
  config.kv_heads = 2;
  torch::manual_seed(6);
  const double tolerance = GetParam() == torch::kFloat ? 1e-5 : 3e-2;
  // Heads of 80 fill the kernels' tiles and leave a rest.
  for (const auto& [prompt, head_dim] :
       {std::pair<int64_t, int64_t>{1, 8}, {63, 80}, {64, 8}, {65, 40}, {200, 8}}) {
    config.head_dim = head_dim;
    auto packed = MakePackedKvCache(config, GetParam(), 5, 70);
    auto reference =
        MakeReferenceKvCache(config, GetParam(), torch::kCPU, 5, 70, /*batch_invariant=*/false);
    auto by_row =
        MakeReferenceKvCache(config, GetParam(), torch::kCPU, 5, 70, /*batch_invariant=*/true);
    const auto random = [&, d = head_dim](int64_t n) { return torch::randn({n, 10, d}); };
    for (const int32_t prefix : {0, 1}) {
      const torch::Tensor qkv = random(prompt + prefix);
      const torch::Tensor a = packed->Prefill(prefix, 0, qkv).to(torch::kFloat);
      const torch::Tensor b = reference->Prefill(prefix, 0, qkv).to(torch::kFloat);
      by_row->Prefill(prefix, 0, qkv);
      EXPECT_LT((a - b).abs().max().item<double>(), tolerance) << prompt;
    }
    for (int64_t t = 0; t < 70; ++t) {
      // Prefix 0 decodes in slots 4 and 0, prefix 1 in slot 2, which starts later and takes two
      // tokens at a time, the second of which is done again in the next step.
      std::vector<DecodeRow> rows = {{0, 4, t}, {0, 0, t}};
      if (t >= 10) rows.insert(rows.end(), {{1, 2, t - 10}, {1, 2, t - 9}});
      const torch::Tensor qkv = random(static_cast<int64_t>(rows.size()));
      const torch::Tensor a = packed->Attend(0, qkv, rows).to(torch::kFloat);
      const torch::Tensor b = reference->Attend(0, qkv, rows).to(torch::kFloat);
      ASSERT_LT((a - b).abs().max().item<double>(), tolerance) << prompt << " " << t;
      const torch::Tensor c = by_row->Attend(0, qkv, rows).to(torch::kFloat);
      ASSERT_LT((a - c).abs().max().item<double>(), tolerance) << prompt << " " << t;
    }
  }
}

}  // namespace
}  // namespace whetstone
