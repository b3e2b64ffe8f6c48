// Brings a learner's state to rank 0, tensor by tensor, from the ranks that shard it.
//
//   StateGather state(learner.State(), ranks);
//   rank 0:  for (…) { ASSIGN_OR_RETURN(const torch::Tensor whole, state.Next()); … }
//   others:  return state.Rest();
//
// All ranks make one. Whoever lets go of it early first goes through what is left, so that the
// others do not wait for what will never come. Not thread-safe; borrows the ranks.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_STATE_GATHER_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_STATE_GATHER_H_

#include <torch/types.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/train/optim/sharded_tensor.h"

namespace whetstone {

class StateGather {
 public:
  // Null `ranks`: this process is alone.
  StateGather(std::vector<ShardedTensor> state, RankGroup* ranks);
  ~StateGather();
  StateGather(const StateGather&) = delete;
  StateGather& operator=(const StateGather&) = delete;

  const std::vector<ShardedTensor>& tensors() const { return state_; }

  // Returns the next tensor as a whole, flat and on the CPU, on rank 0; undefined on the others.
  absl::StatusOr<torch::Tensor> Next();
  // Goes through all that is left.
  absl::Status Rest();

 private:
  const std::vector<ShardedTensor> state_;
  RankGroup* const ranks_;
  size_t next_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_STATE_GATHER_H_
