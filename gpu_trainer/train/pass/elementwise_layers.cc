#include "gpu_trainer/train/pass/elementwise_layers.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "gpu_trainer/kernels/cpu/raw.h"
#include "gpu_trainer/kernels/cpu/row_kernels.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/simd_kernels.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

// A thread takes so many rows: with fewer, splitting costs more than it gains.
int64_t RowGrain(int64_t columns) { return std::max<int64_t>(1, 16384 / columns); }

// Weight gradients are sums over all rows, made of a fixed number of partial sums so that they do
// not depend on the number of threads.
constexpr int64_t kPartialSums = 16;

// Returns the bytes of tensors read or written, for the profile; one that is both comes twice.
double Bytes(const auto&... tensors) { return (0.0 + ... + static_cast<double>(tensors.nbytes())); }

// Returns the bytes of some columns of qkv.
double HeadBytes(const torch::Tensor& qkv, int64_t columns) {
  return static_cast<double>(qkv.size(0) * columns) * static_cast<double>(qkv.itemsize());
}

// Has a kernel for GPUs do it, where they serve tensors like `x`, one of the compute type. `make`
// returns all arguments but the type.
template <typename Args, typename Make>
bool OnDevice(const torch::Tensor& x, const char* name,
              LaunchError (*CudaKernels::*kernel)(const Args&, CudaStreamHandle),
              const Make& make) {
  const CudaKernels* const device_kernels = KernelsFor(x.device());
  if (device_kernels == nullptr || x.scalar_type() == torch::kDouble) return false;
  Args args = make();
  args.type = NumberTypeOf(x.scalar_type());
  return Launched(name, (device_kernels->*kernel)(args, LaunchStream(x.device()).handle()));
}

// The place for the partial sums of a norm's weight gradient; undefined where that is not wanted.
torch::Tensor WeightSums(const torch::Tensor& dweight, int64_t width) {
  if (!dweight.defined()) return {};
  return torch::empty({kNormPartialSums, width}, dweight.options());
}
float* RawOrNull(const torch::Tensor& x) { return x.defined() ? Raw<float>(x) : nullptr; }

}  // namespace

torch::Tensor ResidualAdd(const torch::Tensor& x, const torch::Tensor& delta) {
  const PartScope scope(Part::kElementwise, 0, Bytes(x, x, delta));
  torch::Tensor y = torch::empty_like(x);
  const auto args = [&] {
    return ResidualAddArgs{.x = Raw<float>(x),
                           .delta = delta.const_data_ptr(),
                           .y = Raw<float>(y),
                           .count = x.numel(),
                           .type = {}};
  };
  if (OnDevice(delta, "residual_add", &CudaKernels::residual_add, args)) return y;
  if (!SimdKernelsServe(delta)) return x + delta;
  DispatchCompute(delta, [&]<typename T>() {
    at::parallel_for(0, x.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
      kernels::Row<T>().residual_add(Raw<float>(x) + begin, Raw<T>(delta) + begin, end - begin,
                                     Raw<float>(y) + begin);
    });
  });
  return y;
}

RmsNormResult RmsNormForward(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  const double y_bytes = static_cast<double>(x.numel()) * static_cast<double>(weight.itemsize());
  const PartScope scope(Part::kElementwise, 0, Bytes(x) + y_bytes);
  const int64_t c = x.size(1);
  RmsNormResult result{torch::empty(x.sizes(), weight.options()),
                       torch::empty({x.size(0)}, x.options())};
  const auto args = [&] {
    return RmsNormArgs{.x = Raw<float>(x),
                       .delta = nullptr,
                       .weight = weight.const_data_ptr(),
                       .y = result.y.data_ptr(),
                       .rstd = Raw<float>(result.rstd),
                       .rows = x.size(0),
                       .width = c,
                       .eps = static_cast<float>(eps),
                       .type = {}};
  };
  if (c <= kNormWidthMax && OnDevice(weight, "rms_norm", &CudaKernels::rms_norm, args)) {
    return result;
  }
  if (!SimdKernelsServe(weight)) {
    const torch::Tensor rstd = (x.square().mean(-1) + eps).rsqrt();
    return {(x * rstd.unsqueeze(-1) * weight).to(weight.scalar_type()), rstd};
  }
  DispatchCompute(weight, [&]<typename T>() {
    at::parallel_for(0, x.size(0), RowGrain(c), [&](int64_t begin, int64_t end) {
      kernels::Row<T>().rms_norm_forward(Raw<float>(x) + begin * c, Raw<T>(weight), end - begin, c,
                                         static_cast<float>(eps), Raw<T>(result.y) + begin * c,
                                         Raw<float>(result.rstd) + begin);
    });
  });
  return result;
}

void RmsNormBackward(const torch::Tensor& dy, const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& rstd, torch::Tensor dx, torch::Tensor dweight) {
  const PartScope scope(Part::kElementwise, 0, Bytes(dy, x, dx, dx));
  const int64_t rows = x.size(0), c = x.size(1);
  if (KernelsFor(x.device()) != nullptr && c <= kNormWidthMax) {
    const torch::Tensor sums = WeightSums(dweight, c);
    const auto args = [&] {
      return RmsNormBackwardArgs{.dy = dy.const_data_ptr(),
                                 .x = Raw<float>(x),
                                 .weight = weight.const_data_ptr(),
                                 .rstd = Raw<float>(rstd),
                                 .dx = Raw<float>(dx),
                                 .weight_sums = RawOrNull(sums),
                                 .rows = rows,
                                 .width = c,
                                 .type = {}};
    };
    if (OnDevice(weight, "rms_norm_backward", &CudaKernels::rms_norm_backward, args)) {
      if (sums.defined()) dweight.add_(sums.sum(0));
      return;
    }
  }
  if (!SimdKernelsServe(weight)) {
    const torch::Tensor h = x * rstd.unsqueeze(-1);
    const torch::Tensor g = dy * weight.to(WideType(weight));
    if (dweight.defined()) dweight.add_((dy * h).sum(0));
    dx.add_((g - h * (g * h).mean(-1, true)) * rstd.unsqueeze(-1));
    return;
  }
  torch::Tensor partial = torch::zeros({kPartialSums, c}, x.options());
  DispatchCompute(weight, [&]<typename T>() {
    at::parallel_for(0, kPartialSums, 1, [&](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const int64_t begin = rows * chunk / kPartialSums, end = rows * (chunk + 1) / kPartialSums;
        kernels::Row<T>().rms_norm_backward(Raw<T>(dy) + begin * c, Raw<float>(x) + begin * c,
                                            Raw<T>(weight), Raw<float>(rstd) + begin, end - begin,
                                            c, Raw<float>(dx) + begin * c,
                                            Raw<float>(partial) + chunk * c);
      }
    });
  });
  if (dweight.defined()) dweight.add_(partial.sum(0));
}

void HeadNormInPlace(torch::Tensor qkv, const HeadRange& heads, const torch::Tensor& weight,
                     double eps) {
  const PartScope scope(Part::kElementwise, 0, 2 * HeadBytes(qkv, heads.count * heads.head_dim));
  const int64_t stride = qkv.size(1), d = heads.head_dim, first = heads.first * d;
  const auto args = [&] {
    return HeadNormArgs{.qkv = qkv.data_ptr(),
                        .weight = weight.const_data_ptr(),
                        .rows = qkv.size(0),
                        .stride = stride,
                        .first = first,
                        .heads = static_cast<int32_t>(heads.count),
                        .head_dim = static_cast<int32_t>(d),
                        .eps = static_cast<float>(eps),
                        .type = {}};
  };
  if (OnDevice(qkv, "head_norm", &CudaKernels::head_norm, args)) return;
  if (!SimdKernelsServe(qkv)) {
    torch::Tensor x = qkv.narrow(1, first, heads.count * d).view({qkv.size(0), heads.count, d});
    const torch::Tensor wide = x.to(WideType(x));
    x.copy_(wide * (wide.square().mean(-1, true) + eps).rsqrt() * weight);
    return;
  }
  DispatchCompute(qkv, [&]<typename T>() {
    at::parallel_for(0, qkv.size(0), RowGrain(heads.count * d), [&](int64_t begin, int64_t end) {
      kernels::Row<T>().head_norm(Raw<T>(qkv) + begin * stride + first, Raw<T>(weight), end - begin,
                                  stride, heads.count, d, static_cast<float>(eps));
    });
  });
}

void HeadNormBackwardInPlace(torch::Tensor dqkv, const torch::Tensor& qkv, const HeadRange& heads,
                             const torch::Tensor& weight, double eps, torch::Tensor dweight) {
  const PartScope scope(Part::kElementwise, 0, 3 * HeadBytes(qkv, heads.count * heads.head_dim));
  const int64_t rows = qkv.size(0), stride = qkv.size(1), d = heads.head_dim;
  const int64_t first = heads.first * d;
  if (KernelsFor(qkv.device()) != nullptr && d <= kNormHeadDimMax) {
    const torch::Tensor sums = WeightSums(dweight, d);
    const auto args = [&] {
      return HeadNormBackwardArgs{.dqkv = dqkv.data_ptr(),
                                  .qkv = qkv.const_data_ptr(),
                                  .weight = weight.const_data_ptr(),
                                  .weight_sums = RawOrNull(sums),
                                  .rows = rows,
                                  .stride = stride,
                                  .first = first,
                                  .heads = static_cast<int32_t>(heads.count),
                                  .head_dim = static_cast<int32_t>(d),
                                  .eps = static_cast<float>(eps),
                                  .type = {}};
    };
    if (OnDevice(qkv, "head_norm_backward", &CudaKernels::head_norm_backward, args)) {
      if (sums.defined()) dweight.add_(sums.sum(0));
      return;
    }
  }
  if (!SimdKernelsServe(qkv)) {
    const auto of = [&](const torch::Tensor& x) {
      return x.narrow(1, first, heads.count * d).view({rows, heads.count, d});
    };
    const torch::Tensor x = of(qkv).to(WideType(qkv)), dy = of(dqkv).to(WideType(qkv));
    const torch::Tensor rstd = (x.square().mean(-1, true) + eps).rsqrt();
    const torch::Tensor h = x * rstd, g = dy * weight.to(WideType(weight));
    if (dweight.defined()) dweight.add_((dy * h).flatten(0, 1).sum(0));
    of(dqkv).copy_((g - h * (g * h).mean(-1, true)) * rstd);
    return;
  }
  torch::Tensor partial = torch::zeros({kPartialSums, d}, torch::kFloat);
  DispatchCompute(qkv, [&]<typename T>() {
    at::parallel_for(0, kPartialSums, 1, [&](int64_t first_chunk, int64_t last_chunk) {
      for (int64_t chunk = first_chunk; chunk < last_chunk; ++chunk) {
        const int64_t begin = rows * chunk / kPartialSums, end = rows * (chunk + 1) / kPartialSums;
        const int64_t at = begin * stride + first;
        kernels::Row<T>().head_norm_backward(
            Raw<T>(dqkv) + at, Raw<T>(qkv) + at, Raw<T>(weight), end - begin, stride, heads.count,
            d, static_cast<float>(eps), Raw<float>(partial) + chunk * d);
      }
    });
  });
  if (dweight.defined()) dweight.add_(partial.sum(0));
}

void RotateInPlace(torch::Tensor qkv, int64_t heads, int64_t head_dim,
                   const torch::Tensor& positions, const RopeTable& table, bool backward) {
  const PartScope scope(Part::kElementwise, 0, 2 * HeadBytes(qkv, heads * head_dim));
  const int64_t stride = qkv.size(1), half = head_dim / 2;
  TORCH_CHECK(table.cos.size(1) == half, "rope table of another head_dim");
  const auto args = [&] {
    return RotateArgs{.qkv = qkv.data_ptr(),
                      .positions = positions.data_ptr<int32_t>(),
                      .cos = Raw<float>(table.cos),
                      .sin = Raw<float>(table.sin),
                      .rows = qkv.size(0),
                      .stride = stride,
                      .heads = static_cast<int32_t>(heads),
                      .head_dim = static_cast<int32_t>(head_dim),
                      .backward = backward,
                      .type = {}};
  };
  if (OnDevice(qkv, "rotate", &CudaKernels::rotate, args)) return;
  if (!SimdKernelsServe(qkv)) {
    torch::Tensor rotated = qkv.narrow(1, 0, heads * head_dim).view({qkv.size(0), heads, head_dim});
    const torch::Tensor cos = table.cos.index_select(0, positions);
    const torch::Tensor sin = table.sin.index_select(0, positions);
    rotated.copy_(ApplyRope(rotated, cos, backward ? -sin : sin));
    return;
  }
  DispatchCompute(qkv, [&]<typename T>() {
    at::parallel_for(0, qkv.size(0), RowGrain(stride), [&](int64_t begin, int64_t end) {
      kernels::Row<T>().rope(Raw<T>(qkv) + begin * stride, end - begin, stride, heads, head_dim,
                             positions.data_ptr<int32_t>() + begin, Raw<float>(table.cos),
                             Raw<float>(table.sin), backward ? -1.0f : 1.0f);
    });
  });
}

torch::Tensor SwigluForward(const torch::Tensor& gate_up) {
  const PartScope scope(Part::kElementwise, 0, 1.5 * Bytes(gate_up));
  const int64_t c = gate_up.size(1) / 2;
  torch::Tensor y = torch::empty({gate_up.size(0), c}, gate_up.options());
  const auto args = [&] {
    return SwigluArgs{.gate_up = gate_up.const_data_ptr(),
                      .y = y.data_ptr(),
                      .rows = gate_up.size(0),
                      .width = c,
                      .type = {}};
  };
  if (OnDevice(gate_up, "swiglu", &CudaKernels::swiglu, args)) return y;
  if (!SimdKernelsServe(gate_up)) {
    const torch::Tensor gate = gate_up.narrow(1, 0, c).to(WideType(gate_up));
    return (torch::silu(gate) * gate_up.narrow(1, c, c)).to(gate_up.scalar_type());
  }
  DispatchCompute(y, [&]<typename T>() {
    at::parallel_for(0, y.size(0), RowGrain(c), [&](int64_t begin, int64_t end) {
      kernels::Row<T>().swiglu_forward(Raw<T>(gate_up) + begin * 2 * c, end - begin, c,
                                       Raw<T>(y) + begin * c);
    });
  });
  return y;
}

void SwigluBackwardInPlace(torch::Tensor dy, torch::Tensor gate_up) {
  const PartScope scope(Part::kElementwise, 0, Bytes(dy, dy, gate_up, gate_up));
  const int64_t c = gate_up.size(1) / 2;
  const auto args = [&] {
    return SwigluBackwardArgs{.dy = dy.data_ptr(),
                              .gate_up = gate_up.data_ptr(),
                              .rows = gate_up.size(0),
                              .width = c,
                              .type = {}};
  };
  if (OnDevice(gate_up, "swiglu_backward", &CudaKernels::swiglu_backward, args)) return;
  if (!SimdKernelsServe(gate_up)) {
    const torch::Tensor g = gate_up.narrow(1, 0, c).to(WideType(gate_up));
    const torch::Tensor u = gate_up.narrow(1, c, c).to(WideType(gate_up));
    const torch::Tensor s = g.sigmoid();
    // Before gate_up is written: of a wide type g and u are views of it.
    const torch::Tensor activated = g * s * u;
    gate_up.copy_(torch::cat({dy * u * s * (1 + g * (1 - s)), dy * g * s}, 1));
    dy.copy_(activated);
    return;
  }
  DispatchCompute(dy, [&]<typename T>() {
    at::parallel_for(0, dy.size(0), RowGrain(c), [&](int64_t begin, int64_t end) {
      kernels::Row<T>().swiglu_backward(Raw<T>(dy) + begin * c, end - begin, c,
                                        Raw<T>(gate_up) + begin * 2 * c);
    });
  });
}

void AccumulateInto(torch::Tensor sum, const torch::Tensor& x) {
  if (!SimdKernelsServe(x)) {
    sum.add_(x);
    return;
  }
  TORCH_CHECK(sum.is_contiguous() && x.is_contiguous() && sum.numel() == x.numel(),
              "AccumulateInto: sizes differ");
  DispatchCompute(x, [&]<typename T>() {
    at::parallel_for(0, x.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
      kernels::Row<T>().accumulate(Raw<T>(x) + begin, end - begin, Raw<float>(sum) + begin);
    });
  });
}

void AccumulateProduct(torch::Tensor sum, const torch::Tensor& a, const torch::Tensor& b) {
  if (a.is_cuda() && a.scalar_type() == sum.scalar_type()) {
    at::addmm_out(sum, sum, a, b);
  } else if (a.is_cuda()) {
    at::addmm_out(sum, sum, a, b, sum.scalar_type());
  } else {
    AccumulateInto(sum, torch::mm(a, b).contiguous());
  }
}

}  // namespace whetstone
