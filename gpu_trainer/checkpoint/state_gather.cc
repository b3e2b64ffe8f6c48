#include "gpu_trainer/checkpoint/state_gather.h"

#include <utility>

#include "common/status_macros.h"

namespace whetstone {

StateGather::StateGather(std::vector<ShardedTensor> state, RankGroup* ranks)
    : state_(std::move(state)), ranks_(ranks) {}

StateGather::~StateGather() { Rest().IgnoreError(); }

absl::StatusOr<torch::Tensor> StateGather::Next() {
  const ShardedTensor& tensor = state_[next_++];
  const torch::Tensor mine = tensor.mine.to(torch::kCPU);
  if (tensor.whole()) return mine;
  const int64_t width = static_cast<int64_t>(mine.itemsize());
  std::vector<int64_t> sizes;
  for (const Slice& slice : tensor.slices) sizes.push_back(width * slice.size());
  ASSIGN_OR_RETURN(const std::vector<torch::Tensor> pieces,
                   ranks_->Gather(tensor.name, mine.view(torch::kByte), sizes));
  if (pieces.empty()) return torch::Tensor();
  // Slices lie in the order of the ranks.
  return torch::cat(pieces).view(mine.scalar_type());
}

absl::Status StateGather::Rest() {
  while (next_ < state_.size()) RETURN_IF_ERROR(Next().status());
  return absl::OkStatus();
}

}  // namespace whetstone
