// The trainer works over all ranks: what rank 0 is asked, all ranks do, in step.
//
//   DistributedTrainer trainer(device, dtype, ranks);
//   rank 0:  RETURN_IF_ERROR(trainer.Update(request, &response));  …  trainer.Stop();
//   others:  return trainer.Follow();
//
// Rank 0 hands each request on as it is; every rank executes it (its partition of the samples, or
// of the micro-batches) and says how that ended. An error of any rank is the error of the call,
// with the rank's name. What another rank generates goes through a queue to rank 0, completion by
// completion. Alone it is a TrainerState and no more.
//
// Not thread-safe, but for what TrainerState allows.
#ifndef WHETSTONE_GPU_TRAINER_RPC_DISTRIBUTED_TRAINER_H_
#define WHETSTONE_GPU_TRAINER_RPC_DISTRIBUTED_TRAINER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/rpc/generate_stream.h"
#include "gpu_trainer/rpc/trainer_state.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

class DistributedTrainer {
 public:
  // `ranks` is borrowed.
  DistributedTrainer(torch::Device device, torch::ScalarType dtype, RankGroup& ranks)
      : ranks_(ranks), state_(device, dtype, ranks) {}

  // These are rank 0's. Its policy is that of all ranks: Score and Info need no others.
  absl::Status Load(const v1::LoadCheckpointRequest& request);
  absl::Status Update(const v1::UpdateRequest& request, v1::UpdateResponse* response);
  absl::Status Save(const v1::SaveCheckpointRequest& request, SavedCheckpoint* saved);
  // Ends early where `stream` is cancelled.
  absl::Status Generate(const v1::GenerateRequest& request, GenerateStream* stream);
  // Lets the others go.
  void Stop();
  TrainerState& state() { return state_; }
  const TrainerState& state() const { return state_; }

  // This is the other ranks': does what rank 0 says, until it says that this is all (OK), or a rank
  // is gone.
  absl::Status Follow();

 private:
  enum class Command : char { kLoad, kUpdate, kSave, kGenerate, kStop };
  class Collector;

  static const char* NameOf(Command command);
  // Hands the request on and does `work`, on rank 0.
  absl::Status Lead(Command command, const google::protobuf::MessageLite& request,
                    const std::function<absl::Status()>& work);
  // Does its own work for the command, on every rank, and returns the outcome of all.
  absl::Status InStep(Command command, const std::function<absl::Status()>& work);
  // Generates on the others, whose samples go to rank 0 through a queue.
  absl::Status GenerateForRank0(const v1::GenerateRequest& request);
  // These return the names of a rank's queues for the generation in progress.
  std::string CompletionsQueue(int rank) const;
  std::string CancelQueue(int rank) const;

  RankGroup& ranks_;
  TrainerState state_;
  int64_t generations_ = 0;  // Begun so far.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_DISTRIBUTED_TRAINER_H_
