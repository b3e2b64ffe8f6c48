#include "gpu_trainer/grpo/gradient_sums.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

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

int64_t NumbersOf(const GradientUnits::Unit& unit, const NamedTensors& gradients) {
  int64_t numbers = 0;
  for (const size_t i : unit.tensors) numbers += Aligned(gradients[i].second.numel());
  return numbers;
}

// Moves the unit's tensors, though not what they hold, to the beginning of `memory`, flat.
void MoveTo(const torch::Tensor& memory, const NamedTensors& gradients, GradientUnits::Unit* unit) {
  unit->flat = memory.narrow(0, 0, NumbersOf(*unit, gradients));
  int64_t at = 0;
  for (const size_t i : unit->tensors) {
    torch::Tensor tensor = gradients[i].second;
    const std::vector<int64_t> sizes = tensor.sizes().vec(), strides = tensor.strides().vec();
    tensor.set_(memory.storage(), at, sizes, strides);
    at += Aligned(tensor.numel());
  }
}

}  // namespace

GradientUnits::GradientUnits(const NamedTensors& gradients) : units_(UnitsOf(gradients)) {
  torch::NoGradGuard no_grad;
  for (Unit& unit : units_) {
    const torch::Tensor memory =
        torch::zeros({NumbersOf(unit, gradients)}, gradients[unit.tensors[0]].second.options());
    MoveTo(memory, gradients, &unit);
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
    if (TakesTurns(i)) largest = std::max(largest, NumbersOf(units_[i], gradients));
  }
  std::vector<torch::Tensor> turns;  // of the layers before, the last kTurns have others
  for (size_t i = 0; i < units_.size(); ++i) {
    if (!TakesTurns(i)) {
      MoveTo(torch::zeros({NumbersOf(units_[i], gradients)}, type), gradients, &units_[i]);
      continue;
    }
    const bool first = turns.size() < kTurns;
    turns.push_back(first ? torch::zeros({largest}, type) : turns[turns.size() - kTurns]);
    MoveTo(turns.back(), gradients, &units_[i]);
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
