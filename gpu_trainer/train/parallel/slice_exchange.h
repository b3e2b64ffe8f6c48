// After a step of a sharded optimizer: every rank's slices of the weights go to all.
//
//   SliceExchange exchange(ranks);
//   optimizer.Step(settings, scale, gradients,
//                  [&](size_t i, const torch::Tensor& weight) { exchange.Add(i, weight); });
//   RETURN_IF_ERROR(exchange.Finish());
//
// What was added is on its way while the next tensors are stepped, in pieces that hold a few MiB of
// memory together. For one thread; borrows the ranks.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_SLICE_EXCHANGE_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_SLICE_EXCHANGE_H_

#include <torch/types.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

class SliceExchange {
 public:
  explicit SliceExchange(RankGroup& ranks);

  // `tensor`, contiguous, the one with that index among those that learn: this rank's slice of it
  // is new. The others' are written until Finish has returned.
  void Add(size_t index, const torch::Tensor& tensor);

  // Waits for all slices. An error, of a rank that is gone, leaves some tensors in part new.
  absl::Status Finish();

 private:
  // What is sent at once: by rank, parts of tensors, as bytes.
  using Parts = std::vector<std::vector<torch::Tensor>>;
  struct Sent {
    Parts parts;
    torch::Tensor rows;  // [ranks, n] u8
    RankGroup::Finish finish;
  };

  void Send();
  void Receive();  // what was sent first

  RankGroup& ranks_;
  const int64_t piece_bytes_;           // of one rank
  torch::Device device_ = torch::kCPU;  // of all tensors
  Parts next_;
  std::vector<int64_t> next_bytes_;  // by rank
  std::deque<Sent> sent_;
  absl::Status status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_SLICE_EXCHANGE_H_
