#include "gpu_trainer/train/optim/lora.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

// Place says where a target lies in its fused matrix.
struct Place {
  const char* target;
  FusedMatrix matrix;
  int64_t row, rows, columns;
};

std::vector<Place> PlacesOf(const ModelConfig& c) {
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  return {{"q_proj", FusedMatrix::kQkv, 0, q, c.hidden},
          {"k_proj", FusedMatrix::kQkv, q, kv, c.hidden},
          {"v_proj", FusedMatrix::kQkv, q + kv, kv, c.hidden},
          {"o_proj", FusedMatrix::kO, 0, c.hidden, q},
          {"gate_proj", FusedMatrix::kGateUp, 0, c.intermediate, c.hidden},
          {"up_proj", FusedMatrix::kGateUp, c.intermediate, c.intermediate, c.hidden},
          {"down_proj", FusedMatrix::kDown, 0, c.hidden, c.intermediate}};
}

const char* NameOf(FusedMatrix matrix) {
  switch (matrix) {
    case FusedMatrix::kQkv:
      return "qkv";
    case FusedMatrix::kO:
      return "o";
    case FusedMatrix::kGateUp:
      return "gate_up";
    case FusedMatrix::kDown:
      return "down";
  }
  return "?";
}

torch::Tensor MatrixOf(const LayerWeights& layer, FusedMatrix matrix) {
  switch (matrix) {
    case FusedMatrix::kQkv:
      return layer.qkv;
    case FusedMatrix::kO:
      return layer.o;
    case FusedMatrix::kGateUp:
      return layer.gate_up;
    case FusedMatrix::kDown:
      return layer.down;
  }
  return {};
}

// Returns two tensors of every adapter, under the names of its parameters.
NamedTensors Named(const std::vector<Lora::Adapter>& adapters, torch::Tensor Lora::Adapter::*a,
                   torch::Tensor Lora::Adapter::*b) {
  NamedTensors named;
  for (const Lora::Adapter& adapter : adapters) {
    const std::string name = absl::StrCat("lora.layers.", adapter.layer, ".", adapter.target);
    named.emplace_back(name + ".a", adapter.*a);
    named.emplace_back(name + ".b", adapter.*b);
  }
  return named;
}

}  // namespace

std::vector<std::string> LoraTargets(const ModelConfig& config) {
  std::vector<std::string> targets;
  for (const Place& place : PlacesOf(config)) targets.push_back(place.target);
  return targets;
}

absl::Status CheckLora(const ModelConfig& config, const LoraSettings& settings) {
  if (settings.rank == 0) return absl::OkStatus();
  if (settings.rank < 0 || !(settings.alpha > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("lora: rank is ", settings.rank, " and alpha ",
                                                   settings.alpha, "; both must be above 0"));
  }
  const std::vector<std::string> valid = LoraTargets(config);
  if (settings.targets.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("lora: no targets; valid: ", absl::StrJoin(valid, ", ")));
  }
  std::set<std::string> seen;
  for (const std::string& target : settings.targets) {
    const auto at = std::find(valid.begin(), valid.end(), target);
    if (at == valid.end()) {
      return absl::InvalidArgumentError(absl::StrCat("lora: this model has no target '", target,
                                                     "'; valid: ", absl::StrJoin(valid, ", ")));
    }
    if (!seen.insert(target).second) {
      return absl::InvalidArgumentError(absl::StrCat("lora: target '", target, "' is named twice"));
    }
    const Place place = PlacesOf(config)[static_cast<size_t>(at - valid.begin())];
    const int64_t most = std::min(place.rows, place.columns);
    if (settings.rank > most) {
      return absl::InvalidArgumentError(absl::StrCat(
          "lora: rank ", settings.rank, " is above what ", target, " can have, ", most));
    }
  }
  return absl::OkStatus();
}

LoraNumbers NumbersOf(const ModelConfig& config, const LoraSettings& settings) {
  LoraNumbers numbers;
  std::set<FusedMatrix> with_target;
  const std::vector<Place> places = PlacesOf(config);
  for (const Place& place : places) {
    if (std::find(settings.targets.begin(), settings.targets.end(), place.target) ==
        settings.targets.end()) {
      continue;
    }
    numbers.adapters += config.layers * settings.rank * (place.rows + place.columns);
    with_target.insert(place.matrix);
  }
  for (const Place& place : places) {
    if (with_target.count(place.matrix) > 0) {
      numbers.bases += config.layers * place.rows * place.columns;
    }
  }
  return numbers;
}

Lora::Lora(const ModelConfig& config, Weights& weights, const LoraSettings& settings)
    : weights_(weights),
      settings_(settings),
      scale_(settings.alpha / static_cast<double>(settings.rank)) {
  torch::NoGradGuard no_grad;
  const auto options = torch::dtype(torch::kFloat).device(weights.device());
  // The numbers are drawn on the CPU, so that a run does not depend on the device.
  at::Generator generator = at::detail::createCPUGenerator(/*seed=*/0x10a);
  for (int64_t l = 0; l < config.layers; ++l) {
    const LayerWeights& layer = weights.layers[static_cast<size_t>(l)];
    std::set<FusedMatrix> with_target;
    for (const Place& place : PlacesOf(config)) {
      if (std::find(settings.targets.begin(), settings.targets.end(), place.target) ==
          settings.targets.end()) {
        continue;
      }
      const double bound = 1 / std::sqrt(static_cast<double>(place.columns));
      Adapter adapter{.layer = l,
                      .target = place.target,
                      .matrix = place.matrix,
                      .row = place.row,
                      .a = torch::empty({settings.rank, place.columns})
                               .uniform_(-bound, bound, generator)
                               .to(weights.device()),
                      .b = torch::zeros({place.rows, settings.rank}, options),
                      .da = torch::zeros({settings.rank, place.columns}, options),
                      .db = torch::zeros({place.rows, settings.rank}, options)};
      adapters_.push_back(std::move(adapter));
      with_target.insert(place.matrix);
    }
    for (const FusedMatrix matrix : with_target) {
      bases_.push_back({l, matrix, MatrixOf(layer, matrix).clone()});
    }
  }
}

void Lora::AddGradient(int64_t layer, FusedMatrix matrix, const torch::Tensor& dy,
                       const torch::Tensor& x) {
  for (const Adapter& adapter : adapters_) {
    if (adapter.layer != layer || adapter.matrix != matrix) continue;
    // The four thin products do what one wide one would for the whole matrix.
    const PartScope scope(Part::kWeightGradient,
                          4.0 * static_cast<double>(x.size(0) * settings_.rank) *
                              static_cast<double>(adapter.a.size(1) + adapter.b.size(0)));
    const torch::Tensor dy_part = dy.narrow(1, adapter.row, adapter.b.size(0));
    const torch::Tensor a = adapter.a.to(x.scalar_type()), b = adapter.b.to(x.scalar_type());
    torch::Tensor da = adapter.da, db = adapter.db;
    db.add_(torch::mm(dy_part.t(), torch::mm(x, a.t())), scale_);
    da.add_(torch::mm(torch::mm(dy_part, b).t(), x), scale_);
  }
}

void Lora::Merge() {
  torch::NoGradGuard no_grad;
  for (const Base& base : bases_) {
    const LayerWeights& layer = weights_.layers[static_cast<size_t>(base.layer)];
    for (const Adapter& adapter : adapters_) {
      if (adapter.layer != base.layer || adapter.matrix != base.matrix) continue;
      const int64_t rows = adapter.b.size(0);
      torch::Tensor merged =
          base.values.narrow(0, adapter.row, rows).to(torch::kFloat, false, true);
      merged.addmm_(adapter.b, adapter.a, 1, scale_);
      MatrixOf(layer, base.matrix).narrow(0, adapter.row, rows).copy_(merged);
    }
  }
}

NamedTensors Lora::parameters() const { return Named(adapters_, &Adapter::a, &Adapter::b); }
NamedTensors Lora::gradients() const { return Named(adapters_, &Adapter::da, &Adapter::db); }

NamedTensors Lora::State() const {
  NamedTensors state = parameters();
  for (const Base& base : bases_) {
    state.emplace_back(absl::StrCat("base.layers.", base.layer, ".", NameOf(base.matrix)),
                       base.values);
  }
  return state;
}

}  // namespace whetstone
