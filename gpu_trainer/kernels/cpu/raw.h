// Leads from tensors to the raw memory that row_kernels.h works on.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_RAW_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_RAW_H_

#include <torch/types.h>

#include <type_traits>

namespace whetstone {

// Calls f.operator()<T>() with T = float, or uint16_t for bf16. Other dtypes throw c10::Error.
template <typename F>
void DispatchCompute(const torch::Tensor& like, const F& f) {
  if (like.scalar_type() == torch::kBFloat16) {
    f.template operator()<uint16_t>();
  } else {
    TORCH_CHECK(like.scalar_type() == torch::kFloat,
                "SIMD loops compute in float32 or bfloat16, not ", like.scalar_type());
    f.template operator()<float>();
  }
}

// Returns the first number of a contiguous tensor of that dtype.
template <typename T>
T* Raw(const torch::Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous(), "a contiguous tensor is needed");
  if constexpr (std::is_same_v<T, uint16_t>) {
    return reinterpret_cast<uint16_t*>(tensor.data_ptr<at::BFloat16>());
  } else {
    return tensor.data_ptr<T>();
  }
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_RAW_H_
