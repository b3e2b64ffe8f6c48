// These tests hold the kernels for GPUs to plain versions in f64, for every device and type.
#include "gpu_trainer/kernels/cuda/cuda_kernels.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "common/philox.h"
#include "gpu_trainer/kernels/cuda/cuda_kernels_testing.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/profile/fake_gpu_testing.h"

namespace whetstone {
namespace {

class CudaKernelsTest : public KernelTest {};

INSTANTIATE_TEST_SUITE_P(Devices, CudaKernelsTest, KernelTestCases(), KernelTestName);

TEST_P(CudaKernelsTest, RmsNormAddsAndNormalises) {
  for (const int64_t width : {1, 33, 576, 1000, 1500, 3000, 8192}) {
    for (const bool with_delta : {false, true}) {
      const torch::Tensor x = Random({3, width}), delta = Random({3, width});
      const torch::Tensor weight = Rounded(Random({width}));
      const torch::Tensor sum = with_delta ? x.cpu() + delta.cpu() : x.cpu().clone();
      torch::Tensor y = torch::empty({3, width}, weight.options());
      const torch::Tensor rstd = torch::empty({3}, Floats());
      Check(Kernels().rms_norm({.x = Data<float>(x),
                                .delta = with_delta ? Data<float>(delta) : nullptr,
                                .weight = weight.data_ptr(),
                                .y = y.data_ptr(),
                                .rstd = Data<float>(rstd),
                                .rows = 3,
                                .width = width,
                                .eps = 1e-5f,
                                .type = Number()},
                               nullptr));
      EXPECT_TRUE(x.cpu().equal(sum));
      const torch::Tensor wide = sum.to(torch::kDouble);
      const torch::Tensor want = wide * torch::rsqrt(wide.square().mean(-1, true) + 1e-5) *
                                 weight.cpu().to(torch::kDouble);
      EXPECT_LT(Error(y, want), Tolerance());
      EXPECT_LT(Error(rstd, torch::rsqrt(wide.square().mean(-1) + 1e-5)), 1e-5);
    }
  }
}

TEST_P(CudaKernelsTest, SiluMul) {
  const torch::Tensor gate_up = Random({5, 2 * 77}) * 4;
  torch::Tensor y = torch::empty({5, 77}, gate_up.options().dtype(Type()));
  Check(Kernels().silu_mul({.gate_up = Data<float>(gate_up),
                            .y = y.data_ptr(),
                            .rows = 5,
                            .width = 77,
                            .type = Number()},
                           nullptr));
  const torch::Tensor wide = gate_up.cpu().to(torch::kDouble);
  EXPECT_LT(Error(y, torch::silu(wide.narrow(1, 0, 77)) * wide.narrow(1, 77, 77)), Tolerance());
}

// The rows are of two prompts and their own tokens: rotated, stored, attended, as decoding does it.
TEST_P(CudaKernelsTest, AttentionOverSharedPrefixAndOwnSuffix) {
  struct Case {
    int64_t heads, kv_heads, dim;
    bool bias, norms;
  };
  for (const Case& c :
       {Case{6, 2, 16, true, false}, Case{4, 4, 64, false, true}, Case{14, 2, 128, true, true}}) {
    SCOPED_TRACE(c.dim);
    const int64_t layers = 2, layer = 1, h = c.heads, k = c.kv_heads, d = c.dim, per = h / k;
    const std::vector<int64_t> prefix_tokens = {150, 3};
    const std::vector<int64_t> prefix_of = {0, 0, 0, 1}, suffix_of = {0, 130, 17, 16};
    const int64_t rows = 4, slot_capacity = 144, splits_max = 4;
    const auto kv = [&](int64_t capacity) { return Rounded(Random({layers, 2, k, capacity, d})); };
    const std::vector<torch::Tensor> prefixes = {kv(160), kv(16)};
    const torch::Tensor slots = Rounded(Random({rows, layers, 2, k, slot_capacity, d}));
    const torch::Tensor before = slots.cpu().to(torch::kDouble);
    const torch::Tensor qkv = Random({rows, h + 2 * k, d});
    const torch::Tensor bias = Rounded(Random({(h + 2 * k) * d}));
    const torch::Tensor q_norm = Rounded(Random({d})), k_norm = Rounded(Random({d}));
    const torch::Tensor angle = torch::rand({400, d / 2}) * 6;
    const torch::Tensor cos = angle.cos().to(Device()), sin = angle.sin().to(Device());

    std::vector<DecodeToken> tokens;
    std::vector<KvSegment> segments;
    const int64_t run_max = QueriesMax(Number()) / per;
    for (int64_t i = 0; i < rows; ++i) {
      const size_t row = static_cast<size_t>(i), prefix = static_cast<size_t>(prefix_of[row]);
      const int64_t prefix_splits = (prefix_tokens[prefix] + kSplitTokens - 1) / kSplitTokens;
      const int64_t own_splits = (suffix_of[row] + kSplitTokens) / kSplitTokens;
      void* const slot = slots[i].data_ptr();
      tokens.push_back({.slot = slot,
                        .capacity = static_cast<int32_t>(slot_capacity),
                        .suffix = static_cast<int32_t>(suffix_of[row]),
                        .position = static_cast<int32_t>(prefix_tokens[prefix] + suffix_of[row]),
                        .splits = static_cast<int32_t>(prefix_splits + own_splits),
                        .group_index = 0,
                        .sample = 0,
                        .draw = 0});
      if (i > 0 && prefix_of[row - 1] == prefix_of[row] && segments.back().rows < run_max) {
        ++segments.back().rows;
      } else {
        segments.push_back({.base = prefixes[prefix].data_ptr(),
                            .capacity = static_cast<int32_t>(prefixes[prefix].size(3)),
                            .tokens = static_cast<int32_t>(prefix_tokens[prefix]),
                            .first_row = static_cast<int32_t>(i),
                            .rows = 1,
                            .first_split = 0});
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      const DecodeToken& token = tokens[static_cast<size_t>(i)];
      const int32_t own_splits = (token.suffix + kSplitTokens) / kSplitTokens;
      segments.push_back({.base = token.slot,
                          .capacity = token.capacity,
                          .tokens = token.suffix + 1,
                          .first_row = static_cast<int32_t>(i),
                          .rows = 1,
                          .first_split = token.splits - own_splits});
    }
    segments.push_back({});  // This one is no segment.

    const torch::Tensor token_memory = Upload(tokens), segment_memory = Upload(segments);
    const DecodeShape shape = {.heads = static_cast<int32_t>(h),
                               .kv_heads = static_cast<int32_t>(k),
                               .head_dim = static_cast<int32_t>(d),
                               .type = Number()};
    const auto typed = torch::dtype(Type()).device(Device());
    torch::Tensor q = torch::empty({rows, h, d}, typed), out = torch::empty({rows, h * d}, typed);
    const torch::Tensor split_out = torch::full({rows, h, splits_max, d}, NAN, Floats());
    const torch::Tensor scales = torch::full({rows, h, splits_max, 2}, NAN, Floats());
    Check(Kernels().rotate_store({.qkv = Data<float>(qkv),
                                  .bias = c.bias ? bias.data_ptr() : nullptr,
                                  .q_norm = c.norms ? q_norm.data_ptr() : nullptr,
                                  .k_norm = c.norms ? k_norm.data_ptr() : nullptr,
                                  .eps = 1e-6f,
                                  .cos = Data<float>(cos),
                                  .sin = Data<float>(sin),
                                  .tokens = Data<DecodeToken>(token_memory),
                                  .q = q.data_ptr(),
                                  .rows = rows,
                                  .layer = static_cast<int32_t>(layer),
                                  .shape = shape},
                                 nullptr));
    Check(Kernels().attend_splits({.q = q.data_ptr(),
                                   .segments = Data<KvSegment>(segment_memory),
                                   .segments_count = static_cast<int32_t>(segments.size()),
                                   .tokens_max = 150,
                                   .layer = static_cast<int32_t>(layer),
                                   .split_out = Data<float>(split_out),
                                   .scales = Data<float>(scales),
                                   .splits_max = static_cast<int32_t>(splits_max),
                                   .shape = shape},
                                  nullptr));
    Check(Kernels().merge_splits({.split_out = Data<float>(split_out),
                                  .scales = Data<float>(scales),
                                  .tokens = Data<DecodeToken>(token_memory),
                                  .out = out.data_ptr(),
                                  .rows = rows,
                                  .splits_max = static_cast<int32_t>(splits_max),
                                  .shape = shape},
                                 nullptr));

    // The plain version follows.
    torch::Tensor x = qkv.cpu().to(torch::kDouble);
    if (c.bias) x = x + bias.cpu().to(torch::kDouble).view({h + 2 * k, d});
    const auto normed = [&](const torch::Tensor& part, const torch::Tensor& weight) {
      return part * torch::rsqrt(part.square().mean(-1, true) + 1e-6) *
             weight.cpu().to(torch::kDouble);
    };
    torch::Tensor queries = x.narrow(1, 0, h), keys = x.narrow(1, h, k);
    const torch::Tensor values = x.narrow(1, h + k, k);
    if (c.norms) queries = normed(queries, q_norm), keys = normed(keys, k_norm);
    const torch::Tensor after = slots.cpu().to(torch::kDouble);
    const torch::Tensor got = out.cpu().to(torch::kDouble).view({rows, h, d});
    torch::Tensor expected_slots = before.clone();
    for (int64_t i = 0; i < rows; ++i) {
      const size_t row = static_cast<size_t>(i);
      const DecodeToken& token = tokens[row];
      const auto rotated = [&](const torch::Tensor& heads) {
        const torch::Tensor cs = cos.cpu().to(torch::kDouble)[token.position];
        const torch::Tensor sn = sin.cpu().to(torch::kDouble)[token.position];
        const torch::Tensor a = heads.narrow(-1, 0, d / 2), b = heads.narrow(-1, d / 2, d / 2);
        return torch::cat({a * cs - b * sn, b * cs + a * sn}, -1);
      };
      expected_slots[i][layer][0].select(1, token.suffix).copy_(rotated(keys[i]));
      expected_slots[i][layer][1].select(1, token.suffix).copy_(values[i]);
      const torch::Tensor query = rotated(queries[i]) / std::sqrt(static_cast<double>(d));
      const torch::Tensor prefix =
          prefixes[static_cast<size_t>(prefix_of[row])].cpu().to(torch::kDouble)[layer].narrow(
              2, 0, prefix_tokens[static_cast<size_t>(prefix_of[row])]);
      const torch::Tensor own = after[i][layer].narrow(2, 0, token.suffix + 1);
      const torch::Tensor all = torch::cat({prefix, own}, 2);  // [2, K, tokens, D]
      for (int64_t head = 0; head < h; ++head) {
        const torch::Tensor weights = torch::softmax(all[0][head / per].mv(query[head]), 0);
        EXPECT_LT(Error(got[i][head], all[1][head / per].t().mv(weights)), 2 * Tolerance())
            << "row " << i << " head " << head;
      }
    }
    EXPECT_LT(Error(slots, expected_slots), Tolerance());
  }
}

TEST_P(CudaKernelsTest, ShapesThatDoNotFitAreRefused) {
  for (const DecodeShape& shape :
       {DecodeShape{4, 2, 24, Number()}, DecodeShape{4, 2, 256, Number()},
        DecodeShape{34, 2, 16, Number()}}) {
    EXPECT_NE(Kernels().merge_splits({.split_out = nullptr,
                                      .scales = nullptr,
                                      .tokens = nullptr,
                                      .out = nullptr,
                                      .rows = 1,
                                      .splits_max = 1,
                                      .shape = shape},
                                     nullptr),
              nullptr);
  }
}

// Logits are f32 whatever the type.
using CudaSampleTest = KernelTest;
INSTANTIATE_TEST_SUITE_P(Devices, CudaSampleTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(torch::kFloat)),
                         KernelTestName);

// The draws are equal to what kernels/sample.h draws by common/philox.h's numbers.
TEST_P(CudaSampleTest, SamplesAsTheCpuDoes) {
  const int64_t rows = 6, vocab = 5000;
  torch::Tensor host = torch::randn({rows, vocab}) * 3;
  host[3].fill_(0.25f);  // Every token is alike.
  host[4][4999] = 60;    // Only the last one has a chance.
  host[5][1234] = host[5][1235] = 50;
  const torch::Tensor logits = host.to(Device());
  for (const double temperature : {1.0, 0.6, 1.7, 0.0}) {
    for (uint64_t draw = 0; draw < 5; ++draw) {
      std::vector<DecodeToken> tokens;
      for (int64_t i = 0; i < rows; ++i) {
        tokens.push_back({.slot = nullptr,
                          .capacity = 0,
                          .suffix = 0,
                          .position = 0,
                          .splits = 0,
                          .group_index = static_cast<uint64_t>(7 * i),
                          .sample = static_cast<uint64_t>(i),
                          .draw = draw});
      }
      const std::vector<SampledToken> got =
          Sample(logits, tokens, /*seed=*/11, /*step=*/3, temperature);
      for (int64_t i = 0; i < rows; ++i) {
        const DecodeToken& token = tokens[static_cast<size_t>(i)];
        Philox rng(11, {3, token.group_index, token.sample, token.draw});
        const SampledToken want = SampleToken(host[i].const_data_ptr<float>(), vocab,
                                              {.temperature = temperature}, rng.Uniform());
        EXPECT_EQ(got[static_cast<size_t>(i)].id, want.id) << temperature << " row " << i;
        EXPECT_NEAR(got[static_cast<size_t>(i)].logprob, want.logprob, 2e-5);
      }
    }
  }
}

TEST_P(CudaKernelsTest, SoftmaxStatisticsAndGradient) {
  const int64_t rows = 4, vocab = 1700, first = 600, count = 700;
  const float scale = 0.8f;
  torch::Tensor host = torch::randn({rows, vocab}) * 4;
  host[1] = torch::arange(vocab, torch::kFloat) / 100;  // A new maximum comes again and again.
  host[2].fill_(-3.0f);
  const torch::Tensor logits = host.to(Device());
  const torch::Tensor targets = torch::tensor({5, 700, 1299, 1600}, torch::kLong);
  const torch::Tensor ids = targets.to(Device());
  const torch::Tensor results = torch::empty({3, rows}, Floats());
  Check(Kernels().softmax_statistics({.logits = Data<float>(logits),
                                      .targets = Data<int64_t>(ids),
                                      .log_sum = Data<float>(results[0]),
                                      .entropy = Data<float>(results[1]),
                                      .logprob = Data<float>(results[2]),
                                      .rows = rows,
                                      .vocab = vocab,
                                      .scale = scale},
                                     nullptr));
  const torch::Tensor y = (host.to(torch::kDouble) * double{scale}).set_requires_grad(true);
  const torch::Tensor log_p = torch::log_softmax(y, -1);
  const torch::Tensor entropy = -(log_p.exp() * log_p).sum(-1);
  const torch::Tensor chosen = log_p.gather(1, targets.unsqueeze(1)).squeeze(1);
  EXPECT_LT(Error(results[0], torch::logsumexp(y, -1).detach()), 2e-5);
  EXPECT_LT(Error(results[1], entropy.detach()), 2e-5);
  EXPECT_LT(Error(results[2], chosen.detach()), 2e-5);

  const torch::Tensor c = torch::tensor({0.5, 0.0, -1.5, 1.0}),
                      h = torch::tensor({0.3, -0.7, 0.0, 1.0});
  (c.to(torch::kDouble) * chosen + h.to(torch::kDouble) * entropy).sum().backward();
  const torch::Tensor slopes = torch::stack({c, h}).to(torch::kFloat).to(Device());
  torch::Tensor gradient = torch::empty({rows, count}, Floats().dtype(Type()));
  Check(Kernels().softmax_gradient({.logits = Data<float>(logits),
                                    .targets = Data<int64_t>(ids),
                                    .log_sum = Data<float>(results[0]),
                                    .entropy = Data<float>(results[1]),
                                    .c = Data<float>(slopes[0]),
                                    .h = Data<float>(slopes[1]),
                                    .gradient = gradient.data_ptr(),
                                    .rows = rows,
                                    .vocab = vocab,
                                    .first = first,
                                    .count = count,
                                    .scale = scale,
                                    .type = Number()},
                                   nullptr));
  EXPECT_LT(Error(gradient, y.grad().narrow(1, first, count) * double{scale}), Tolerance());
}

// The default streams of all devices are the same null: a launch goes to the current one.
TEST(LaunchStreamTest, ItsDeviceIsCurrentWhileItLives) {
  FakeGpus::Get();
  ASSERT_EQ(FakeGpus::current(), 0);
  {
    const LaunchStream stream(FakeGpus::device(1));
    EXPECT_EQ(FakeGpus::current(), 1);
    EXPECT_NE(stream.handle(), nullptr);
    EXPECT_NE(stream.handle(), LaunchStream(FakeGpus::device(0)).handle());
    EXPECT_EQ(FakeGpus::current(), 1);
  }
  EXPECT_EQ(FakeGpus::current(), 0);
  EXPECT_EQ(LaunchStream(torch::kCPU).handle(), nullptr);
}

TEST_P(CudaSampleTest, DamagedLogitsShow) {
  torch::Tensor host = torch::randn({2, 3000});
  host[1][2500] = NAN;
  const torch::Tensor logits = host.to(Device());
  for (const double temperature : {1.0, 0.0}) {
    const std::vector<SampledToken> got =
        Sample(logits, std::vector<DecodeToken>(2), 1, 2, temperature);
    EXPECT_TRUE(std::isfinite(got[0].logprob));
    EXPECT_FALSE(std::isfinite(got[1].logprob)) << temperature;
  }
}

}  // namespace
}  // namespace whetstone
