#include "gpu_trainer/train/parallel/gradient_sums.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_trainer/train/parallel/flat_layout.h"

namespace whetstone {
namespace {

// "layers.3.qkv" and "lora.layers.3.q_proj.a" are complete with layer 3.
int64_t CompleteWith(const std::string& name) {
  return name == "lm_head" ? GradientUnits::kHead : LayerOf(name).value_or(GradientUnits::kAll);
}

std::string NameOfUnit(int64_t down_to) {
  if (down_to == GradientUnits::kHead) return "head";
  if (down_to == GradientUnits::kAll) return "embedding";
  return absl::StrCat("layers.", down_to);
}

// The units without their memory.
std::vector<GradientUnits::Unit> UnitsOf(const NamedTensors& gradients) {
  std::map<int64_t, std::vector<size_t>, std::greater<>> tensors;
  for (size_t i = 0; i < gradients.size(); ++i) {
    tensors[CompleteWith(gradients[i].first)].push_back(i);
  }
  std::vector<GradientUnits::Unit> units;
  for (auto& [down_to, of_unit] : tensors) {
    units.push_back({.down_to = down_to,
                     .name = NameOfUnit(down_to),
                     .flat = {},
                     .tensors = std::move(of_unit)});
  }
  return units;
}

std::vector<torch::Tensor> TensorsOf(const GradientUnits::Unit& unit,
                                     const NamedTensors& gradients) {
  std::vector<torch::Tensor> tensors;
  for (const size_t i : unit.tensors) tensors.push_back(gradients[i].second);
  return tensors;
}

torch::Tensor Zeros(const std::vector<torch::Tensor>& tensors) {
  return torch::zeros({FlatNumbers(tensors)}, tensors[0].options());
}

}  // namespace

GradientUnits::GradientUnits(const NamedTensors& gradients) : units_(UnitsOf(gradients)) {
  torch::NoGradGuard no_grad;
  for (Unit& unit : units_) {
    const std::vector<torch::Tensor> tensors = TensorsOf(unit, gradients);
    unit.flat = LayOut(Zeros(tensors), tensors);
  }
}

GradientUnits::GradientUnits(const NamedTensors& gradients, int rank, int ranks)
    : units_(UnitsOf(gradients)), gradients_(gradients) {
  torch::NoGradGuard no_grad;
  const torch::TensorOptions type = gradients[0].second.options();
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto& [name, tensor] = gradients[i];
    slices_.push_back(SliceOf(tensor.numel(), i, rank, ranks));
    mine_.emplace_back(name, torch::zeros({slices_.back().size()}, type));
  }
  int64_t largest = 0;
  for (size_t i = 0; i < units_.size(); ++i) {
    if (TakesTurns(i)) largest = std::max(largest, FlatNumbers(TensorsOf(units_[i], gradients)));
  }
  std::vector<torch::Tensor> turns;  // of the layers before, the last kTurns have others
  for (size_t i = 0; i < units_.size(); ++i) {
    const std::vector<torch::Tensor> tensors = TensorsOf(units_[i], gradients);
    if (!TakesTurns(i)) {
      units_[i].flat = LayOut(Zeros(tensors), tensors);
      continue;
    }
    const bool first = turns.size() < kTurns;
    turns.push_back(first ? torch::zeros({largest}, type) : turns[turns.size() - kTurns]);
    units_[i].flat = LayOut(turns.back(), tensors);
  }
}

void GradientUnits::Keep(const Unit& unit) const {
  torch::NoGradGuard no_grad;
  for (const size_t i : unit.tensors) {
    torch::Tensor mine = mine_[i].second;
    mine.add_(gradients_[i].second.view({-1}).narrow(0, slices_[i].begin, slices_[i].size()));
  }
}

GradientSums::~GradientSums() { Finish().IgnoreError(); }

void GradientSums::Begin() {
  started_ = opened_ = 0;
  if (!units_.shared()) return;
  while (!on_the_way_.empty()) FinishOne();
  for (size_t i = 0; i < units_.units().size(); ++i) {
    torch::Tensor flat = units_.units()[i].flat;
    if (!units_.TakesTurns(i)) flat.zero_();
  }
  Open(0);
}

void GradientSums::Open(size_t i) {
  const std::vector<GradientUnits::Unit>& units = units_.units();
  for (; opened_ <= i && opened_ < units.size(); ++opened_) {
    if (!units_.TakesTurns(opened_)) continue;
    while (!on_the_way_.empty() && on_the_way_.front().unit + GradientUnits::kTurns <= opened_) {
      FinishOne();
    }
    torch::Tensor flat = units[opened_].flat;
    flat.zero_();
  }
}

void GradientSums::CompleteDownTo(int64_t layer) {
  const std::vector<GradientUnits::Unit>& units = units_.units();
  while (started_ < units.size() && units[started_].down_to >= layer) {
    const GradientUnits::Unit& unit = units[started_];
    on_the_way_.push_back(
        {.unit = started_,
         .finish = ranks_.StartSum(absl::StrCat("gradients of ", unit.name), unit.flat)});
    ++started_;
    Open(started_);
  }
}

void GradientSums::FinishOne() {
  const OnTheWay first = std::move(on_the_way_.front());
  on_the_way_.pop_front();
  status_.Update(first.finish());
  if (units_.shared() && status_.ok()) units_.Keep(units_.units()[first.unit]);
}

absl::Status GradientSums::Finish() {
  while (!on_the_way_.empty()) FinishOne();
  return status_;
}

}  // namespace whetstone
