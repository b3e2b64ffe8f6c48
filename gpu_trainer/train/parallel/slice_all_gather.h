// Sends every rank's slices of the weights to all after a step of a sharded optimizer.
//
//   SliceAllGather all_gather(ranks);
//   optimizer.Step(settings, scale, gradients,
//                  [&](size_t i, const torch::Tensor& weight) { all_gather.Add(i, weight); });
//   RETURN_IF_ERROR(all_gather.Finish());
//
// What was added is on its way while the next tensors are stepped, in messages that take a few MiB
// of memory together. It serves one thread and borrows the ranks.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_SLICE_ALL_GATHER_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_SLICE_ALL_GATHER_H_

#include <torch/types.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

class SliceAllGather {
 public:
  explicit SliceAllGather(RankGroup& ranks);

  // `tensor`, contiguous, is the one with that index among those that learn; this rank's slice of
  // it is new. The others' are written until Finish has returned.
  void Add(size_t index, const torch::Tensor& tensor);

  // Waits for all slices. An error, of a rank that is gone, leaves some tensors partly new.
  absl::Status Finish();

 private:
  // RunsByRank is what one message carries: by rank, runs of its slices, as bytes.
  using RunsByRank = std::vector<std::vector<torch::Tensor>>;
  struct Message {
    RunsByRank runs;
    torch::Tensor rows;  // [ranks, n] u8
    RankGroup::Finish finish;
  };

  void Send();
  // Takes in the message that was sent first.
  void Receive();

  RankGroup& ranks_;
  const int64_t message_bytes_;         // The most of one rank in a message.
  torch::Device device_ = torch::kCPU;  // All tensors are there.
  RunsByRank next_;
  std::vector<int64_t> next_bytes_;  // By rank.
  std::deque<Message> sent_;
  absl::Status status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_SLICE_ALL_GATHER_H_
