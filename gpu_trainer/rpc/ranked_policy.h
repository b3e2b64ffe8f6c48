// The policy as all ranks hold it: what rank 0 is asked, all ranks do, in step.
//
//   RankedPolicy policy(device, dtype, ranks);
//   rank 0:  RETURN_IF_ERROR(policy.Update(request, &response));  …  policy.Stop();
//   others:  return policy.Follow();
//
// Rank 0 hands each request on as it is; every rank executes it (its share of the samples, its
// share of the micro-batches) and says how that ended. An error of any rank is the error of the
// call, with the rank's name. What another rank generates goes through letter boxes to rank 0,
// completion by completion. Alone it is a HeldPolicy and no more.
//
// Not thread-safe, but for what HeldPolicy allows.
#ifndef WHETSTONE_GPU_TRAINER_RPC_RANKED_POLICY_H_
#define WHETSTONE_GPU_TRAINER_RPC_RANKED_POLICY_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/rpc/generate_stream.h"
#include "gpu_trainer/rpc/held_policy.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

class RankedPolicy {
 public:
  // `ranks` is borrowed.
  RankedPolicy(torch::Device device, torch::ScalarType dtype, RankGroup& ranks)
      : ranks_(ranks), held_(device, dtype, ranks) {}

  // Rank 0. The policy of this rank is that of all: Score and Info need no others.
  absl::Status Load(const v1::LoadCheckpointRequest& request);
  absl::Status Update(const v1::UpdateRequest& request, v1::UpdateResponse* response);
  absl::Status Save(const v1::SaveCheckpointRequest& request, SavedCheckpoint* saved);
  // Until `stream` is cancelled.
  absl::Status Generate(const v1::GenerateRequest& request, GenerateStream* stream);
  // Lets the others go.
  void Stop();
  HeldPolicy& held() { return held_; }
  const HeldPolicy& held() const { return held_; }

  // The others: does what rank 0 says, until it says that this is all (OK), or a rank is gone.
  absl::Status Follow();

 private:
  enum class Command : char { kLoad, kUpdate, kSave, kGenerate, kStop };
  class Collector;

  static const char* NameOf(Command command);
  // Rank 0: hands the request on, and does `work`.
  absl::Status Lead(Command command, const google::protobuf::MessageLite& request,
                    const std::function<absl::Status()>& work);
  // Every rank: its own part of the command, and the outcome of all.
  absl::Status InStep(Command command, const std::function<absl::Status()>& work);
  // The others: their samples go to rank 0's box.
  absl::Status GenerateForFirst(const v1::GenerateRequest& request);
  // Names of boxes for the generation in progress.
  std::string CompletionsOf(int rank) const;
  std::string CancelOf(int rank) const;

  RankGroup& ranks_;
  HeldPolicy held_;
  int64_t generations_ = 0;  // begun so far
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_RANKED_POLICY_H_
