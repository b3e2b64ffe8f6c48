#include "gpu_trainer/train/parallel/fsdp_shards.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/train/parallel/flat_layout.h"

namespace whetstone {

FsdpShards::FsdpShards(const Weights& weights, RankGroup& ranks)
    : ranks_(ranks), named_(weights.Named()), layers_(weights.layers.size()) {
  for (size_t i = 0; i < named_.size(); ++i) {
    const auto& [name, tensor] = named_[i];
    const Slice slice = SliceOfRank(i, ranks_.rank());
    mine_.emplace_back(name, tensor.view({-1}).narrow(0, slice.begin, slice.size()));
    const std::optional<int64_t> layer = LayerOf(name);
    if (!layer.has_value()) continue;
    layers_[*layer].indices.push_back(i);
    layers_[*layer].tensors.push_back(tensor);
  }
  for (Layer& layer : layers_) {
    for (int r = 0; r < ranks_.size(); ++r) {
      int64_t row = 0;
      for (const size_t i : layer.indices) row += SliceOfRank(i, r).size();
      layer.row = std::max(layer.row, row);
    }
  }
}

Slice FsdpShards::SliceOfRank(size_t index, int rank) const {
  return SliceOf(named_[index].second.numel(), index, rank, ranks_.size());
}

absl::Status FsdpShards::Shard() {
  torch::NoGradGuard no_grad;
  const torch::TensorOptions type = named_[0].second.options();
  int64_t largest = 0, longest = 0;
  for (const Layer& layer : layers_) {
    largest = std::max(largest, FlatNumbers(layer.tensors));
    longest = std::max(longest, layer.row);
  }
  // From the first layer on, less memory is taken with each.
  torch::Tensor turns, first;
  RETURN_IF_ERROR(ranks_.StatusBarrier("sharding the weights", [&] {
    turns = torch::empty({largest}, type);
    first = torch::empty({largest}, type);
    for (torch::Tensor& memory : gather_memory_)
      memory = torch::empty({ranks_.size() * longest}, type);
    return absl::OkStatus();
  }));
  for (const Layer& layer : layers_) {
    std::vector<torch::Tensor> mine, before;
    for (const size_t i : layer.indices) {
      mine.push_back(mine_[i].second);
      before.push_back(mine_[i].second.alias());
    }
    first.reset();
    MoveInto(torch::empty({FlatNumbers(mine)}, type), mine);
    for (size_t t = 0; t < mine.size(); ++t) mine[t].copy_(before[t]);
    MoveInto(turns, layer.tensors);
  }
  resident_.reset();
  return absl::OkStatus();
}

FsdpShards::Pending FsdpShards::Start(size_t layer) {
  torch::NoGradGuard no_grad;
  const int64_t row = layers_[layer].row;
  Pending pending{.layer = layer,
                  .rows = gather_memory_[started_++ % gather_memory_.size()]
                              .narrow(0, 0, ranks_.size() * row)
                              .view({ranks_.size(), row}),
                  .finish = {}};
  const torch::Tensor own = pending.rows[ranks_.rank()];
  int64_t at = 0;
  for (const size_t i : layers_[layer].indices) {
    const torch::Tensor& slice = mine_[i].second;
    own.narrow(0, at, slice.numel()).copy_(slice);
    at += slice.numel();
  }
  pending.finish = ranks_.StartAllGather(absl::StrCat("weights of layers.", layer), pending.rows);
  return pending;
}

void FsdpShards::Finish(const Pending& pending) {
  torch::NoGradGuard no_grad;
  status_.Update(pending.finish());
  if (!status_.ok()) return;
  for (int r = 0; r < ranks_.size(); ++r) {
    int64_t at = 0;
    for (const size_t i : layers_[pending.layer].indices) {
      const Slice slice = SliceOfRank(i, r);
      named_[i]
          .second.view({-1})
          .narrow(0, slice.begin, slice.size())
          .copy_(pending.rows[r].narrow(0, at, slice.size()));
      at += slice.size();
    }
  }
}

void FsdpShards::GatherLayer(size_t layer, std::optional<size_t> next) {
  if (resident_ != layer) {
    if (next_.has_value() && next_->layer != layer) {
      status_.Update(next_->finish());
      next_.reset();
    }
    if (!next_.has_value()) next_ = Start(layer);
    const Pending pending = *std::exchange(next_, std::nullopt);
    // The next is on its way before this one is unpacked.
    if (next.has_value()) next_ = Start(*next);
    Finish(pending);
    resident_ = layer;
  } else if (next.has_value() && !next_.has_value()) {
    next_ = Start(*next);
  }
}

absl::Status FsdpShards::Unshard() noexcept {
  torch::NoGradGuard no_grad;
  if (next_.has_value()) status_.Update(std::exchange(next_, std::nullopt)->finish());
  std::optional<Pending> pending;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    if (!pending.has_value()) pending = Start(l);
    const Pending arriving = *std::exchange(pending, std::nullopt);
    if (l + 1 < layers_.size()) pending = Start(l + 1);
    MoveInto(torch::empty({FlatNumbers(layer.tensors)}, named_[0].second.options()), layer.tensors);
    Finish(arriving);
    for (const size_t i : layer.indices) {
      const Slice slice = SliceOfRank(i, ranks_.rank());
      const torch::Tensor& whole = named_[i].second;
      torch::Tensor mine = mine_[i].second;
      mine.set_(whole.storage(), whole.storage_offset() + slice.begin, {slice.size()}, {1});
    }
  }
  for (torch::Tensor& memory : gather_memory_) memory.reset();
  return status_;
}

}  // namespace whetstone
