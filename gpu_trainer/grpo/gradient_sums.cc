#include "gpu_trainer/grpo/gradient_sums.h"

#include <cstdlib>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Numbers; 64 bytes of the smaller type, what vector instructions like.
constexpr int64_t kAlignment = 16;

int64_t Aligned(int64_t numbers) { return (numbers + kAlignment - 1) / kAlignment * kAlignment; }

// "layers.3.qkv" and "lora.layers.3.q_proj.a" are complete with layer 3.
int64_t CompleteWith(const std::string& name) {
  static const std::string kLayers = "layers.";
  if (name == "lm_head") return GradientUnits::kHead;
  const size_t at = name.find(kLayers);
  if (at == std::string::npos) return GradientUnits::kAll;
  return std::atoll(name.c_str() + at + kLayers.size());
}

std::string NameOfUnit(int64_t down_to) {
  if (down_to == GradientUnits::kHead) return "head";
  if (down_to == GradientUnits::kAll) return "embedding";
  return absl::StrCat("layers.", down_to);
}

// Moves tensors, though not what they hold, into one.
torch::Tensor MoveIntoOne(const std::vector<torch::Tensor>& tensors) {
  int64_t numbers = 0;
  for (const torch::Tensor& tensor : tensors) numbers += Aligned(tensor.numel());
  const torch::Tensor flat = torch::zeros({numbers}, tensors[0].options());
  int64_t at = 0;
  for (torch::Tensor tensor : tensors) {
    const std::vector<int64_t> sizes = tensor.sizes().vec(), strides = tensor.strides().vec();
    tensor.set_(flat.storage(), at, sizes, strides);
    at += Aligned(tensor.numel());
  }
  return flat;
}

}  // namespace

GradientUnits::GradientUnits(const NamedTensors& gradients) {
  torch::NoGradGuard no_grad;
  std::map<int64_t, std::vector<torch::Tensor>, std::greater<>> tensors;
  for (const auto& [name, tensor] : gradients) tensors[CompleteWith(name)].push_back(tensor);
  for (const auto& [down_to, of_unit] : tensors) {
    units_.push_back(
        {.down_to = down_to, .name = NameOfUnit(down_to), .flat = MoveIntoOne(of_unit)});
  }
}

GradientSums::~GradientSums() { Finish().IgnoreError(); }

void GradientSums::CompleteDownTo(int64_t layer) {
  const std::vector<GradientUnits::Unit>& units = units_.units();
  for (; started_ < units.size() && units[started_].down_to >= layer; ++started_) {
    const GradientUnits::Unit& unit = units[started_];
    on_the_way_.push_back(ranks_.StartSum(absl::StrCat("gradients of ", unit.name), unit.flat));
  }
}

absl::Status GradientSums::Finish() {
  absl::Status status;
  for (const RankGroup::Finish& finish : on_the_way_) status.Update(finish());
  on_the_way_.clear();
  return status;
}

}  // namespace whetstone
