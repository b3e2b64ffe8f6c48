#include "gpu_trainer/train/optim/adamw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"
#include "gpu_trainer/kernels/gpu_testing.h"
#include "gpu_trainer/train/optim/gradient_norm.h"

namespace whetstone {
namespace {

constexpr MomentType kTypes[] = {MomentType::kFp32, MomentType::kBf16, MomentType::kEightBit};

// The problem is a matrix and a vector, of no round size, and gradients whose magnitudes spread
// over more than two decades within a block of 8 bits.
struct Problem {
  explicit Problem(torch::ScalarType dtype, torch::Device on = torch::kCPU) : device(on) {
    torch::manual_seed(3);
    for (const auto& shape : {std::vector<int64_t>{70, 33}, std::vector<int64_t>{301}}) {
      weights.emplace_back("w", torch::randn(shape).to(device, dtype));
      spread.push_back(torch::exp(torch::randn(shape)));
    }
  }
  NamedTensors Gradients(int step) const {
    torch::manual_seed(100 + step);
    NamedTensors gradients;
    for (const torch::Tensor& s : spread) {
      gradients.emplace_back("w", (torch::randn_like(s) * s).to(device));
    }
    return gradients;
  }
  torch::Device device;
  NamedTensors weights;
  std::vector<torch::Tensor> spread;
};

const AdamWSettings kSettings = {
    .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1};

// The tolerance is a share of the way that the weights go, twice to three times what was measured.
const std::map<MomentType, double> kTolerance = {
    {MomentType::kFp32, 1e-5}, {MomentType::kBf16, 0.01}, {MomentType::kEightBit, 0.1}};

// Computes AdamW in a few lines of fp64 (PyTorch's documentation).
std::vector<torch::Tensor> Reference(const Problem& problem, int steps) {
  std::vector<torch::Tensor> w, m, v;
  for (const auto& [name, weight] : problem.weights) {
    w.push_back(weight.cpu().to(torch::kDouble));
    m.push_back(torch::zeros_like(w.back()));
    v.push_back(torch::zeros_like(w.back()));
  }
  const AdamWSettings& s = kSettings;
  for (int t = 1; t <= steps; ++t) {
    const NamedTensors gradients = problem.Gradients(t);
    for (size_t i = 0; i < w.size(); ++i) {
      const torch::Tensor g = gradients[i].second.cpu().to(torch::kDouble) * 0.5;
      m[i] = s.beta1 * m[i] + (1 - s.beta1) * g;
      v[i] = s.beta2 * v[i] + (1 - s.beta2) * g * g;
      if (w[i].dim() > 1) w[i] = w[i] * (1 - s.lr * s.weight_decay);
      w[i] = w[i] - s.lr * (m[i] / (1 - std::pow(s.beta1, t))) /
                        ((v[i] / (1 - std::pow(s.beta2, t))).sqrt() + s.eps);
    }
  }
  return w;
}

void ExpectFp64Formula(torch::Device device, std::initializer_list<MomentType> types) {
  constexpr int kSteps = 20;
  for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
    for (const MomentType type : types) {
      const Problem problem(dtype, device);
      const std::vector<torch::Tensor> want = Reference(problem, kSteps);
      std::vector<torch::Tensor> start;
      for (const auto& [name, weight] : problem.weights) start.push_back(weight.cpu().clone());
      AdamW optimizer(problem.weights, type);
      for (int t = 1; t <= kSteps; ++t) {
        const NamedTensors gradients = problem.Gradients(t);
        optimizer.Step(kSettings, 0.5, gradients);
        for (const auto& [name, g] : gradients) EXPECT_EQ(g.abs().max().item<float>(), 0);
      }
      const NamedTensors masters = optimizer.Masters();
      for (size_t i = 0; i < want.size(); ++i) {
        const torch::Tensor got = masters[i].second.cpu().to(torch::kDouble).view(want[i].sizes());
        const double moved = (want[i] - start[i].to(torch::kDouble)).norm().item<double>();
        const double off = (got - want[i]).norm().item<double>();
        EXPECT_LT(off, kTolerance.at(type) * moved) << NameOf(type);
        // The weight that computes is the rounded master.
        EXPECT_LE(
            (problem.weights[i].second.cpu().to(torch::kDouble) - got).abs().max().item<double>(),
            dtype == torch::kFloat  ? 0
            : dtype == torch::kHalf ? 0.002
                                    : 0.02);
      }
    }
  }
}

TEST(AdamW, StepsEqualTheFp64Formula) {
  ExpectFp64Formula(torch::kCPU, {MomentType::kFp32, MomentType::kBf16, MomentType::kEightBit});
}

TEST(AdamW, StepsOnAGpuEqualTheFp64Formula) {
  if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  ExpectFp64Formula(torch::kCUDA, {MomentType::kFp32});
}

// Of each device: the sums of several tensors, one of them empty, and who is to blame.
void ExpectGradientSize(torch::Device device) {
  torch::manual_seed(5);
  NamedTensors gradients;
  double squares = 0;
  for (const int64_t n : {3, 0, 70001}) {
    const torch::Tensor x = torch::randn({n});
    squares += x.to(torch::kDouble).square().sum().item<double>();
    gradients.emplace_back(absl::StrCat("layers.", n, ".w"), x.to(device));
  }
  const auto size = MeasureGradients(gradients, /*by_layer=*/true, 0.5, nullptr);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_NEAR(size->total, 0.5 * std::sqrt(squares), 1e-6 * std::sqrt(squares));
  EXPECT_EQ(size->culprit, "");
  EXPECT_EQ(size->layers.at("layers.0"), 0);
  gradients[0].second[1] = NAN;
  const auto damaged = MeasureGradients(gradients, /*by_layer=*/true, 0.5, nullptr);
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_EQ(damaged->culprit, "layers.3.w");
}
TEST(GradientNorm, IsThatOfAllTensors) { ExpectGradientSize(torch::kCPU); }
TEST(GradientNorm, IsThatOfAllTensorsOnAGpu) {
  if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  ExpectGradientSize(torch::kCUDA);
}

// Every rank's slices, put together, are the whole: the weights and all that is kept, which has as
// many bytes.
TEST(AdamW, SlicesAreSteppedToTheSameBits) {
  for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
    for (const MomentType type : kTypes) {
      for (const int ranks : {2, 3, 5}) {
        SCOPED_TRACE(absl::StrCat(NameOf(type), " over ", ranks, " ranks"));
        const Problem whole(dtype);
        AdamW optimizer(whole.weights, type);
        std::vector<Problem> parts(static_cast<size_t>(ranks), Problem(dtype));
        std::vector<AdamW> shares;
        for (int r = 0; r < ranks; ++r) {
          Problem& own = parts[static_cast<size_t>(r)];
          for (auto& [name, weight] : own.weights) weight = weight.clone();
          shares.emplace_back(own.weights, type, OptimizerShard{r, ranks});
        }
        for (int t = 1; t <= 3; ++t) {
          optimizer.Step(kSettings, 0.5, whole.Gradients(t));
          for (AdamW& share : shares) {
            size_t stepped = 0;
            share.Step(kSettings, 0.5, share.SlicesOf(whole.Gradients(t)),
                       [&](size_t i, const torch::Tensor&) { EXPECT_EQ(i, stepped++); });
            EXPECT_EQ(stepped, whole.weights.size());
          }
        }
        const std::vector<ShardedTensor> want = optimizer.State();
        for (int r = 0; r < ranks; ++r) {
          const AdamW& share = shares[static_cast<size_t>(r)];
          const NamedTensors weights = share.SlicesOf(whole.weights);
          const NamedTensors mine = share.SlicesOf(parts[static_cast<size_t>(r)].weights);
          for (size_t i = 0; i < mine.size(); ++i) {
            EXPECT_TRUE(torch::equal(mine[i].second, weights[i].second));
          }
          const std::vector<ShardedTensor> got = share.State();
          ASSERT_EQ(got.size(), want.size());
          for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(got[i].name, want[i].name);
            EXPECT_EQ(got[i].shape, want[i].shape);
            const Slice slice = got[i].slice_of(r);
            EXPECT_TRUE(
                torch::equal(got[i].mine, want[i].mine.narrow(0, slice.begin, slice.size())))
                << got[i].name;
          }
        }
      }
    }
  }
}

TEST(AdamW, AWeightAndSixteenBitsAreTheMaster) {
  torch::manual_seed(1);
  const torch::Tensor master = torch::randn({100000}) * torch::exp(8 * torch::randn({100000}));
  master[0] = 0.0f;
  master[1] = -0.0f;
  master[2] = 1.00390625f;  // It is halfway between two bf16.
  std::vector<uint16_t> high(100000);
  std::vector<int16_t> low(100000);
  std::vector<float> joined(100000);
  const kernels::OptimizerKernels& k = kernels::Optimizer();
  k.split_master(master.data_ptr<float>(), 100000, high.data(), low.data());
  k.join_master(high.data(), low.data(), 100000, joined.data());
  EXPECT_EQ(std::memcmp(joined.data(), master.data_ptr<float>(), sizeof(float) * 100000), 0);
  const torch::Tensor nearest = master.to(torch::kBFloat16);
  int different = 0;
  for (int64_t i = 0; i < 100000; ++i) {
    different += high[i] != static_cast<const at::BFloat16*>(nearest.const_data_ptr())[i].x;
  }
  EXPECT_LE(different, 20);  // They are ties.
}

// A mean that moves by a thousandth of itself each step, less than half a rounding step of bf16 or
// of 8 bits, still arrives where it should.
TEST(AdamW, SmallMovesOfMomentsAreNotLost) {
  for (const MomentType type : {MomentType::kBf16, MomentType::kEightBit}) {
    NamedTensors weights = {{"w", torch::zeros({8192})}};
    AdamW optimizer(weights, type);
    AdamWSettings settings = {.lr = 0, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    const auto run = [&](int steps, float gradient) {
      for (int t = 0; t < steps; ++t) {
        const torch::Tensor g = torch::full({8192}, gradient);
        // Each block has one large entry, so that the others are not simply the scale.
        g.view({-1, kernels::kBlock}).select(1, 7).fill_(4.0f);
        optimizer.Step(settings, 1, {{"w", g}});
      }
    };
    run(700, 1.0f);
    run(700, 0.5f);
    const double kept = std::pow(0.999, 700);
    const double want1 = 0.5;  // It has long forgotten what was before.
    const double want2 = (1 - kept) * kept + 0.25 * (1 - kept);
    const std::vector<ShardedTensor> state = optimizer.State();
    torch::Tensor m = state[0].mine, v = state[1].mine;
    if (type == MomentType::kEightBit) {
      torch::Tensor m_wide = torch::empty({8192}), v_wide = torch::empty({8192});
      for (int64_t b = 0; b < 8192 / kernels::kBlock; ++b) {
        const int64_t at = b * kernels::kBlock;
        kernels::FromEightBits(m.data_ptr<uint8_t>() + at, state[2].mine[b].item<float>(),
                               kernels::kBlock, true, m_wide.data_ptr<float>() + at);
        kernels::FromEightBits(v.data_ptr<uint8_t>() + at, state[3].mine[b].item<float>(),
                               kernels::kBlock, false, v_wide.data_ptr<float>() + at);
      }
      m = m_wide;
      v = v_wide.square();
    }
    const auto ordinary = [](const torch::Tensor& x) {
      return x.to(torch::kDouble).view({-1, kernels::kBlock}).narrow(1, 8, 200).mean();
    };
    EXPECT_NEAR(ordinary(m).item<double>(), want1, 0.02) << NameOf(type);
    EXPECT_NEAR(ordinary(v).item<double>(), want2, 0.03 * want2) << NameOf(type);
  }
}

TEST(EightBits, EveryValueOfTheMapComesBackExactly) {
  for (const bool is_signed : {true, false}) {
    const float* map = kernels::DynamicMap(is_signed);
    EXPECT_EQ(map[255], 1.0f);
    EXPECT_EQ(std::set<float>(map, map + 256).size(), 256u);
    EXPECT_TRUE(std::is_sorted(map, map + 256));
    uint8_t codes[256];
    float back[256];
    const float scale = kernels::ToEightBits(map, 256, is_signed, 1, 0, codes);
    kernels::FromEightBits(codes, scale, 256, is_signed, back);
    for (int i = 0; i < 256; ++i) EXPECT_EQ(back[i], map[i]) << i;
  }
}

TEST(EightBits, UnsignedRoundsBetweenNeighboursWithoutBias) {
  constexpr int kN = 256;
  float x[kN], back[kN];
  uint8_t codes[kN];
  const float* map = kernels::DynamicMap(false);
  for (const float value : {0.7213f, 3.3e-4f, 0.5555f, 2.1e-5f}) {
    std::fill(x, x + kN, value);
    x[0] = 1;
    const float above = *std::upper_bound(map, map + 256, value);
    const float below = *(std::upper_bound(map, map + 256, value) - 1);
    double sum = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
      const float scale = kernels::ToEightBits(x, kN, false, seed * 7919, 0, codes);
      kernels::FromEightBits(codes, scale, kN, false, back);
      EXPECT_EQ(back[0], 1);
      for (int i = 1; i < kN; ++i) {
        ASSERT_TRUE(back[i] == above || back[i] == below) << back[i];
        sum += back[i];
      }
    }
    EXPECT_NEAR(sum / (200 * (kN - 1)), value, 0.02 * (above - below));
  }
}

TEST(EightBits, ATinyFirstMomentIsNotRoundedUpByChance) {
  constexpr int kN = 256;
  float x[kN] = {}, back[kN];
  uint8_t codes[kN];
  x[0] = -1;
  std::fill(x + 1, x + kN, 1e-7f);
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const float scale = kernels::ToEightBits(x, kN, true, seed, 0, codes);
    kernels::FromEightBits(codes, scale, kN, true, back);
    EXPECT_EQ(back[0], -1);
    for (int i = 1; i < kN; ++i) ASSERT_EQ(back[i], 0);
  }
}

}  // namespace
}  // namespace whetstone
