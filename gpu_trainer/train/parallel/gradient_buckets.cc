#include "gpu_trainer/train/parallel/gradient_buckets.h"

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
  return name == "lm_head" ? GradientBuckets::kHead : LayerOf(name).value_or(GradientBuckets::kAll);
}

std::string NameOfBucket(int64_t down_to) {
  if (down_to == GradientBuckets::kHead) return "head";
  if (down_to == GradientBuckets::kAll) return "embedding";
  return absl::StrCat("layers.", down_to);
}

// Returns the buckets, without their memory.
std::vector<GradientBuckets::Bucket> BucketsOf(const NamedTensors& gradients) {
  std::map<int64_t, std::vector<size_t>, std::greater<>> tensors;
  for (size_t i = 0; i < gradients.size(); ++i) {
    tensors[CompleteWith(gradients[i].first)].push_back(i);
  }
  std::vector<GradientBuckets::Bucket> buckets;
  for (auto& [down_to, of_bucket] : tensors) {
    buckets.push_back({.down_to = down_to,
                       .name = NameOfBucket(down_to),
                       .flat = {},
                       .tensors = std::move(of_bucket)});
  }
  return buckets;
}

std::vector<torch::Tensor> TensorsOf(const GradientBuckets::Bucket& bucket,
                                     const NamedTensors& gradients) {
  std::vector<torch::Tensor> tensors;
  for (const size_t i : bucket.tensors) tensors.push_back(gradients[i].second);
  return tensors;
}

torch::Tensor Zeros(const std::vector<torch::Tensor>& tensors) {
  return torch::zeros({FlatNumbers(tensors)}, tensors[0].options());
}

}  // namespace

GradientBuckets::GradientBuckets(const NamedTensors& gradients) : buckets_(BucketsOf(gradients)) {
  torch::NoGradGuard no_grad;
  for (Bucket& bucket : buckets_) {
    const std::vector<torch::Tensor> tensors = TensorsOf(bucket, gradients);
    bucket.flat = MoveInto(Zeros(tensors), tensors);
  }
}

GradientBuckets::GradientBuckets(const NamedTensors& gradients, int rank, int ranks)
    : buckets_(BucketsOf(gradients)), gradients_(gradients) {
  torch::NoGradGuard no_grad;
  const torch::TensorOptions type = gradients[0].second.options();
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto& [name, tensor] = gradients[i];
    slices_.push_back(SliceOf(tensor.numel(), i, rank, ranks));
    mine_.emplace_back(name, torch::zeros({slices_.back().size()}, type));
  }
  int64_t largest = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (TakesTurns(i)) largest = std::max(largest, FlatNumbers(TensorsOf(buckets_[i], gradients)));
  }
  std::vector<torch::Tensor> turns;  // The memory of the layers so far.
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const std::vector<torch::Tensor> tensors = TensorsOf(buckets_[i], gradients);
    if (!TakesTurns(i)) {
      buckets_[i].flat = MoveInto(Zeros(tensors), tensors);
      continue;
    }
    const bool first = turns.size() < kTurns;
    turns.push_back(first ? torch::zeros({largest}, type) : turns[turns.size() - kTurns]);
    buckets_[i].flat = MoveInto(turns.back(), tensors);
  }
}

void GradientBuckets::Keep(const Bucket& bucket) const {
  torch::NoGradGuard no_grad;
  for (const size_t i : bucket.tensors) {
    torch::Tensor mine = mine_[i].second;
    mine.add_(gradients_[i].second.view({-1}).narrow(0, slices_[i].begin, slices_[i].size()));
  }
}

}  // namespace whetstone
