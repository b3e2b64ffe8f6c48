#include "gpu_trainer/train/optim/adamw.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"
#include "gpu_trainer/kernels/cpu/raw.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/model/compute_type.h"

namespace whetstone {
namespace {

constexpr int64_t kGrain = 1 << 16;
// So many numbers are unpacked at a time, in whole blocks of 8 bits; three such buffers fit the
// cache.
constexpr int64_t kRun = 4 * kernels::kBlock;
static_assert(kSliceUnit % kRun == 0, "a slice must be stepped as the whole is");

torch::Tensor JoinMaster(const torch::Tensor& weight, const torch::Tensor& low) {
  const torch::Tensor high = weight.view(torch::kShort).to(torch::kInt);
  return high.bitwise_left_shift(16).add_(low.to(torch::kInt)).view(torch::kFloat);
}

void SplitMaster(const torch::Tensor& master, torch::Tensor weight, torch::Tensor low) {
  const torch::Tensor bits = master.view(torch::kInt);
  // The shift is arithmetic; what wraps around in the top bit is cut off with it.
  const torch::Tensor high = bits.add(0x8000).bitwise_right_shift(16);
  weight.view(torch::kShort).copy_(high);
  low.copy_(bits - high.bitwise_left_shift(16));
}

bool StepByKernel(const kernels::AdamWStep& step, const torch::Tensor& gradient,
                  const torch::Tensor& moment1, const torch::Tensor& moment2,
                  const torch::Tensor& weight, const torch::Tensor& low,
                  const torch::Tensor& master) {
  const CudaKernels* const kernels = KernelsFor(weight.device());
  if (kernels == nullptr || weight.scalar_type() == torch::kDouble) return false;
  const AdamWArgs args = {.step = step,
                          .gradient = Raw<float>(gradient),
                          .moment1 = Raw<float>(moment1),
                          .moment2 = Raw<float>(moment2),
                          .weight = master.is_same(weight) ? nullptr : weight.data_ptr(),
                          .low = low.defined() ? low.data_ptr<int16_t>() : nullptr,
                          .master = master.defined() ? Raw<float>(master) : nullptr,
                          .count = weight.numel(),
                          .type = NumberTypeOf(weight.scalar_type())};
  return Launched("adamw", kernels->adamw(args, LaunchStream(weight.device()).handle()));
}

void StepOnDevice(const kernels::AdamWStep& step, torch::Tensor gradient, torch::Tensor moment1,
                  torch::Tensor moment2, torch::Tensor weight, torch::Tensor low,
                  torch::Tensor master) {
  if (StepByKernel(step, gradient, moment1, moment2, weight, low, master)) return;
  if (low.defined()) master = JoinMaster(weight, low);
  gradient.mul_(step.gradient_scale);
  moment1.mul_(step.beta1).add_(gradient, 1 - step.beta1);
  moment2.mul_(step.beta2).addcmul_(gradient, gradient, 1 - step.beta2);
  master.mul_(1 - step.decay)
      .addcdiv_(moment1, moment2.sqrt().div_(step.sqrt_correction2).add_(step.eps),
                -step.lr / step.correction1);
  if (low.defined()) {
    SplitMaster(master, weight, low);
  } else if (!master.is_same(weight)) {
    weight.copy_(master);
  }
  gradient.zero_();
}

// Each tensor, moment and step has a seed of its own.
uint32_t RoundingSeed(int64_t step, size_t parameter, int moment) {
  return kernels::Hash(kernels::Hash(static_cast<uint32_t>(step)) +
                       2 * static_cast<uint32_t>(parameter) + static_cast<uint32_t>(moment));
}

}  // namespace

const char* NameOf(MomentType type) {
  switch (type) {
    case MomentType::kFp32:
      return "fp32";
    case MomentType::kBf16:
      return "bf16";
    case MomentType::kEightBit:
      return "8bit";
  }
  return "?";
}

// Unpacks a run of one parameter's state, steps, packs it again. It serves one thread.
class AdamW::BlockStep {
 public:
  BlockStep(const kernels::AdamWStep& step, const Parameter& p, MomentType type, int64_t steps,
            size_t index)
      : step_(step),
        p_(p),
        type_(type),
        seed1_(RoundingSeed(steps, index, 0)),
        seed2_(RoundingSeed(steps, index, 1)) {}

  // Steps [begin, begin + n) of the slice, begin a multiple of kernels::kBlock, n <= kRun.
  void operator()(float* gradient, int64_t begin, int64_t n) {
    float* const m = Unpack(p_.moment1, /*is_signed=*/true, begin, n, m_);
    float* const v = Unpack(p_.moment2, /*is_signed=*/false, begin, n, v_);
    float* master = master_;
    if (p_.low.defined()) {
      kernels::Optimizer().join_master(Raw<uint16_t>(p_.weight) + begin, Low() + begin, n, master);
    } else {
      master = Raw<float>(p_.master) + begin;
    }
    kernels::Optimizer().adamw(step_, n, gradient + begin, m, v, master);
    if (p_.low.defined()) {
      kernels::Optimizer().split_master(master, n, Raw<uint16_t>(p_.weight) + begin, Low() + begin);
    } else if (p_.weight.scalar_type() == torch::kHalf) {
      std::copy_n(master, n, p_.weight.data_ptr<at::Half>() + begin);
    }
    Pack(m, p_.moment1, /*is_signed=*/true, begin, n, seed1_);
    Pack(v, p_.moment2, /*is_signed=*/false, begin, n, seed2_);
  }

 private:
  int16_t* Low() const { return p_.low.data_ptr<int16_t>(); }

  float* Unpack(const Moment& moment, bool is_signed, int64_t begin, int64_t n,
                float* buffer) const {
    switch (type_) {
      case MomentType::kFp32:
        return Raw<float>(moment.values) + begin;
      case MomentType::kBf16:
        kernels::Optimizer().from_bf16(Raw<uint16_t>(moment.values) + begin, n, buffer);
        return buffer;
      case MomentType::kEightBit:
        for (int64_t i = 0; i < n; i += kernels::kBlock) {
          const int64_t count = std::min(kernels::kBlock, n - i);
          kernels::FromEightBits(moment.values.data_ptr<uint8_t>() + begin + i,
                                 Raw<float>(moment.scales)[(begin + i) / kernels::kBlock], count,
                                 is_signed, buffer + i);
        }
        if (!is_signed) {
          for (int64_t i = 0; i < n; ++i) buffer[i] *= buffer[i];
        }
        return buffer;
    }
    return buffer;
  }

  void Pack(float* x, const Moment& moment, bool is_signed, int64_t begin, int64_t n,
            uint32_t seed) const {
    if (type_ == MomentType::kBf16) {
      kernels::Optimizer().to_bf16(x, n, seed, p_.slice.begin + begin,
                                   Raw<uint16_t>(moment.values) + begin);
    }
    if (type_ != MomentType::kEightBit) return;
    if (!is_signed) {
      for (int64_t i = 0; i < n; ++i) x[i] = std::sqrt(x[i]);
    }
    for (int64_t i = 0; i < n; i += kernels::kBlock) {
      Raw<float>(moment.scales)[(begin + i) / kernels::kBlock] = kernels::ToEightBits(
          x + i, std::min(kernels::kBlock, n - i), is_signed, seed, p_.slice.begin + begin + i,
          moment.values.data_ptr<uint8_t>() + begin + i);
    }
  }

  const kernels::AdamWStep& step_;
  const Parameter& p_;
  const MomentType type_;
  const uint32_t seed1_, seed2_;
  float m_[kRun], v_[kRun], master_[kRun];
};

AdamW::Moment AdamW::MakeMoment(const torch::Tensor& weight) const {
  const auto make = [&](torch::ScalarType dtype) {
    return torch::empty(weight.sizes(), weight.options().dtype(dtype));
  };
  switch (type_) {
    case MomentType::kFp32:
      return {make(WideType(weight.scalar_type())), {}};
    case MomentType::kBf16:
      return {make(torch::kBFloat16), {}};
    case MomentType::kEightBit:
      return {make(torch::kByte),
              torch::empty({(weight.numel() + kernels::kBlock - 1) / kernels::kBlock})};
  }
  return {};
}

AdamW::AdamW(NamedTensors parameters, MomentType type, OptimizerShard shard,
             const NamedTensors& slices)
    : type_(type), shard_(shard) {
  TORCH_CHECK(slices.empty() || slices.size() == parameters.size(), "AdamW: a slice for each");
  for (auto& [name, whole] : parameters) {
    TORCH_CHECK(whole.is_cpu() || type == MomentType::kFp32, "optimizer state ", NameOf(type),
                " is for weights on the CPU");
    const Slice slice = SliceOf(whole.numel(), parameters_.size(), shard.rank, shard.ranks);
    const torch::Tensor weight = slices.empty()
                                     ? whole.view({-1}).narrow(0, slice.begin, slice.size())
                                     : slices[parameters_.size()].second;
    Parameter p{.name = std::move(name),
                .whole = whole,
                .slice = slice,
                .weight = weight,
                .low = {},
                .master = {},
                .moment1 = MakeMoment(weight),
                .moment2 = MakeMoment(weight)};
    if (weight.scalar_type() == torch::kBFloat16) {
      p.low = torch::zeros(weight.sizes(), weight.options().dtype(torch::kShort));
    } else {
      p.master = weight.to(WideType(weight.scalar_type()));  // The same tensor, unless of fp16.
    }
    parameters_.push_back(std::move(p));
  }
  Reset();
}

NamedTensors AdamW::SlicesOf(const NamedTensors& tensors) const {
  TORCH_CHECK(tensors.size() == parameters_.size(), "AdamW: a tensor for each parameter");
  NamedTensors slices;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Slice& slice = parameters_[i].slice;
    slices.emplace_back(tensors[i].first,
                        tensors[i].second.view({-1}).narrow(0, slice.begin, slice.size()));
  }
  return slices;
}

double AdamW::StepBytes() const {
  const auto bytes = [](const torch::Tensor& t) {
    return t.defined() ? static_cast<double>(t.nbytes()) : 0.0;
  };
  double once = 0;
  for (const Parameter& p : parameters_) {
    once += bytes(p.weight) + bytes(p.low) + 4.0 * static_cast<double>(p.weight.numel());
    for (const Moment* moment : {&p.moment1, &p.moment2}) {
      once += bytes(moment->values) + bytes(moment->scales);
    }
  }
  return 2 * once;
}

void AdamW::Reset() {
  torch::NoGradGuard no_grad;
  for (Parameter& p : parameters_) {
    for (Moment* moment : {&p.moment1, &p.moment2}) {
      moment->values.zero_();
      // In 8 bits a scale of 0 makes every code 0.
      if (moment->scales.defined()) moment->scales.zero_();
    }
  }
  steps_ = 0;
}

std::vector<ShardedTensor> AdamW::State() const {
  std::vector<ShardedTensor> state;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& p = parameters_[i];
    // `per` is how many weights share one of the tensor's numbers.
    const auto add = [&](const char* kind, const torch::Tensor& mine, int64_t per = 1) {
      ShardedTensor tensor{.name = absl::StrCat(kind, ".", p.name),
                           .shape = p.whole.sizes().vec(),
                           .mine = mine,
                           .slices = {}};
      const auto groups = [per](int64_t numbers) { return (numbers + per - 1) / per; };
      if (per > 1) tensor.shape = {groups(p.whole.numel())};
      for (int r = 0; r < shard_.ranks; ++r) {
        const Slice slice = SliceOf(p.whole.numel(), i, r, shard_.ranks);
        tensor.slices.push_back({.begin = groups(slice.begin), .end = groups(slice.end)});
      }
      state.push_back(std::move(tensor));
    };
    if (p.low.defined()) add("low", p.low);
    if (p.weight.scalar_type() == torch::kHalf) add("master", p.master);
    add("moment1", p.moment1.values);
    add("moment2", p.moment2.values);
    if (type_ != MomentType::kEightBit) continue;
    add("scale1", p.moment1.scales, kernels::kBlock);
    add("scale2", p.moment2.scales, kernels::kBlock);
  }
  return state;
}

NamedTensors AdamW::Masters() const {
  NamedTensors masters;
  for (const Parameter& p : parameters_) {
    masters.emplace_back(p.name, p.low.defined() ? JoinMaster(p.weight, p.low) : p.master.clone());
  }
  return masters;
}

void AdamW::Step(const AdamWSettings& settings, double gradient_scale,
                 const NamedTensors& gradients,
                 const std::function<void(size_t, const torch::Tensor&)>& stepped) {
  torch::NoGradGuard no_grad;
  ++steps_;
  const double t = static_cast<double>(steps_);
  kernels::AdamWStep step{
      .gradient_scale = static_cast<float>(gradient_scale),
      .lr = static_cast<float>(settings.lr),
      .beta1 = static_cast<float>(settings.beta1),
      .beta2 = static_cast<float>(settings.beta2),
      .eps = static_cast<float>(settings.eps),
      .decay = 0,
      .correction1 = static_cast<float>(1 - std::pow(settings.beta1, t)),
      .sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(settings.beta2, t)))};
  TORCH_CHECK(gradients.size() == parameters_.size(), "AdamW: a gradient for each parameter");
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& p = parameters_[i];
    const torch::Tensor gradient = gradients[i].second;
    const int64_t n = p.weight.numel(), runs = (n + kRun - 1) / kRun;
    TORCH_CHECK(gradient.numel() == n, "AdamW: the gradient of ", p.name, " is no slice of it");
    step.decay = p.whole.dim() > 1 ? static_cast<float>(settings.lr * settings.weight_decay) : 0.0f;
    if (p.weight.is_cpu() && p.weight.scalar_type() != torch::kDouble) {
      at::parallel_for(0, runs, kGrain / kRun, [&](int64_t first, int64_t end) {
        BlockStep block(step, p, type_, steps_, i);
        for (int64_t run = first; run < end; ++run) {
          block(Raw<float>(gradient), run * kRun, std::min(kRun, n - run * kRun));
        }
      });
    } else {
      StepOnDevice(step, gradient, p.moment1.values, p.moment2.values, p.weight, p.low, p.master);
    }
    if (stepped) stepped(i, p.whole);
  }
}

void Clear(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) tensor.detach().zero_();
}

}  // namespace whetstone
