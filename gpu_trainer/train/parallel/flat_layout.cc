#include "gpu_trainer/train/parallel/flat_layout.h"

namespace whetstone {
namespace {

// The alignment is in numbers: 64 bytes of a type of two bytes.
constexpr int64_t kAlignment = 32;

int64_t Aligned(int64_t numbers) { return (numbers + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

int64_t FlatNumbers(const std::vector<int64_t>& sizes) {
  int64_t numbers = 0;
  for (const int64_t size : sizes) numbers += Aligned(size);
  return numbers;
}

int64_t FlatNumbers(const std::vector<torch::Tensor>& tensors) {
  std::vector<int64_t> sizes;
  for (const torch::Tensor& tensor : tensors) sizes.push_back(tensor.numel());
  return FlatNumbers(sizes);
}

torch::Tensor MoveInto(const torch::Tensor& memory, const std::vector<torch::Tensor>& tensors) {
  int64_t at = 0;
  for (torch::Tensor tensor : tensors) {
    const std::vector<int64_t> sizes = tensor.sizes().vec(), strides = tensor.strides().vec();
    tensor.set_(memory.storage(), memory.storage_offset() + at, sizes, strides);
    at += Aligned(tensor.numel());
  }
  return memory.narrow(0, 0, at);
}

}  // namespace whetstone
