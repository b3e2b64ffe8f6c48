// The tests of kernels have this fixture: every type on the emulator and on a GPU. What needs a GPU
// is skipped where there is none.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_KERNELS_TESTING_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_KERNELS_TESTING_H_

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/cuda/cuda_kernels.h"
#include "gpu_trainer/kernels/gpu_testing.h"
#include "gpu_trainer/kernels/sample.h"

namespace whetstone {

using KernelTestCase = std::tuple<bool, torch::ScalarType>;  // on a GPU; type

inline auto KernelTestCases() {
  return ::testing::Combine(::testing::Bool(),
                            ::testing::Values(torch::kFloat, torch::kBFloat16, torch::kHalf));
}

inline std::string KernelTestName(const ::testing::TestParamInfo<KernelTestCase>& info) {
  const torch::ScalarType type = std::get<1>(info.param);
  return std::string(std::get<0>(info.param) ? "Gpu" : "Emulator") +
         (type == torch::kFloat  ? "Float32"
          : type == torch::kHalf ? "Float16"
                                 : "BFloat16");
}

class KernelTest : public ::testing::TestWithParam<KernelTestCase> {
 protected:
  KernelTest() { torch::manual_seed(1); }
  void SetUp() override {
    if (!std::get<0>(GetParam())) return;
    if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
    if (KernelsFor(Device()) == nullptr) GTEST_SKIP() << "this build has no kernels for GPUs";
  }

  torch::Device Device() const {
    return std::get<0>(GetParam()) ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  }
  torch::ScalarType Type() const { return std::get<1>(GetParam()); }
  NumberType Number() const { return NumberTypeOf(Type()); }
  const CudaKernels& Kernels() const {
    return std::get<0>(GetParam()) ? *KernelsFor(Device()) : emulated::Kernels();
  }
  // The tolerance is of results of about 1, relative where they are larger.
  double Tolerance() const {
    return Type() == torch::kFloat ? 1e-5 : Type() == torch::kHalf ? 4e-3 : 3e-2;
  }

  torch::TensorOptions Floats() const { return torch::dtype(torch::kFloat).device(Device()); }
  torch::Tensor Random(torch::IntArrayRef shape) const { return torch::randn(shape).to(Device()); }
  torch::Tensor Rounded(const torch::Tensor& x) const { return x.to(Type()); }
  template <typename T>
  static T* Data(const torch::Tensor& x) {
    return static_cast<T*>(x.data_ptr());
  }
  template <typename T>
  torch::Tensor Upload(const std::vector<T>& items) const {
    torch::Tensor bytes =
        torch::empty({static_cast<int64_t>(items.size() * sizeof(T))}, torch::kByte);
    std::memcpy(bytes.data_ptr(), items.data(), items.size() * sizeof(T));
    return bytes.to(Device());
  }

  static void Check(LaunchError error) { ASSERT_EQ(error, nullptr) << error; }
  // Returns the largest difference, relative to 1 + |want|.
  static double Error(const torch::Tensor& got, const torch::Tensor& want) {
    const torch::Tensor exact = want.to(torch::kDouble);
    return ((got.cpu().to(torch::kDouble) - exact).abs() / (1 + exact.abs())).max().item<double>();
  }

  std::vector<SampledToken> Sample(const torch::Tensor& logits,
                                   const std::vector<DecodeToken>& tokens, uint64_t seed,
                                   uint64_t step, double temperature) const {
    const int64_t rows = logits.size(0), vocab = logits.size(1);
    const torch::Tensor token_memory = Upload(tokens);
    const int64_t vocab_blocks = (vocab + kVocabBlockTokens - 1) / kVocabBlockTokens;
    const torch::Tensor scratch =
        torch::empty({rows * vocab_blocks * static_cast<int64_t>(sizeof(VocabBlock))},
                     Floats().dtype(torch::kByte));
    const torch::Tensor ids = torch::empty({rows}, Floats().dtype(torch::kInt));
    const torch::Tensor logprobs = torch::empty({rows}, Floats());
    Check(Kernels().sample({.logits = Data<float>(logits),
                            .tokens = Data<DecodeToken>(token_memory),
                            .seed = seed,
                            .step = step,
                            .scale = temperature > 0 ? static_cast<float>(1 / temperature) : 0.0f,
                            .vocab_blocks = Data<VocabBlock>(scratch),
                            .ids = Data<int32_t>(ids),
                            .logprobs = Data<float>(logprobs),
                            .rows = rows,
                            .vocab = vocab},
                           nullptr));
    std::vector<SampledToken> drawn;
    const torch::Tensor host_ids = ids.cpu(), host_logprobs = logprobs.cpu();
    for (int64_t i = 0; i < rows; ++i) {
      drawn.push_back({host_ids.data_ptr<int32_t>()[i], host_logprobs.data_ptr<float>()[i]});
    }
    return drawn;
  }
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_KERNELS_TESTING_H_
