// TrainerService is the Trainer service of proto/whetstone/v1/trainer.proto on one policy.
//
// gRPC's threads take calls and wait; ComputeThread alone touches the policy, which may be spread
// over several ranks (distributed_trainer.h); GetInfo reads a copy behind a mutex, so it answers
// while an update computes. Whose calls are let through is TrainerGate's to say: once when a call
// comes, and again when its turn comes.
#ifndef WHETSTONE_GPU_TRAINER_RPC_TRAINER_SERVICE_H_
#define WHETSTONE_GPU_TRAINER_RPC_TRAINER_SERVICE_H_

#include <torch/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/trainer_gate.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/rpc/compute_thread.h"
#include "gpu_trainer/rpc/distributed_trainer.h"
#include "whetstone/v1/trainer.grpc.pb.h"

namespace whetstone {

struct TrainerOptions {
  torch::Device device = torch::kCPU;
  torch::ScalarType dtype = torch::kBFloat16;
  int threads = 0;              // 0: one for each core.
  std::string unused_gpu = {};  // TrainerInfo::unused_gpu
  RankGroup* ranks = nullptr;   // This process is rank 0 of them; borrowed. Null: it is alone.
};

class TrainerService final : public v1::Trainer::Service {
 public:
  explicit TrainerService(const TrainerOptions& options);

  // Does as LoadCheckpoint without a call, for a model named on the command line. Nobody holds it.
  absl::Status Load(const v1::LoadCheckpointRequest& request);

  // Returns the work in progress; empty: idle.
  std::string Busy() const { return compute_.Busy(); }

  // Lets the other ranks go, once all work is done. No call may follow.
  void Stop();

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::TrainerInfoRequest* request,
                       v1::TrainerInfo* response) override;
  grpc::Status LoadCheckpoint(grpc::ServerContext* context,
                              const v1::LoadCheckpointRequest* request,
                              v1::LoadCheckpointResponse* response) override;
  grpc::Status Generate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                        grpc::ServerWriter<v1::GenerateEvent>* writer) override;
  grpc::Status Update(grpc::ServerContext* context, const v1::UpdateRequest* request,
                      v1::UpdateResponse* response) override;
  grpc::Status SaveCheckpoint(grpc::ServerContext* context,
                              const v1::SaveCheckpointRequest* request,
                              v1::SaveCheckpointResponse* response) override;
  grpc::Status RemoveCheckpoints(grpc::ServerContext* context,
                                 const v1::RemoveCheckpointsRequest* request,
                                 v1::RemoveCheckpointsResponse* response) override;
  grpc::Status ReadCheckpoint(grpc::ServerContext* context,
                              const v1::ReadCheckpointRequest* request,
                              v1::ReadCheckpointResponse* response) override;
  grpc::Status Score(grpc::ServerContext* context, const v1::ScoreRequest* request,
                     v1::ScoreResponse* response) override;
  grpc::Status InspectModel(grpc::ServerContext* context, const v1::InspectModelRequest* request,
                            v1::InspectModelResponse* response) override;

 private:
  v1::TrainerInfo Info() const;
  // FAILED_PRECONDITION: the policy is another campaign's, or none is loaded.
  absl::Status CheckPolicyIsOf(const std::string& campaign_id) const;
  // Does as Generate, for `caller`.
  absl::Status StreamCompletions(grpc::ServerContext* context, const TrainerHolder& caller,
                                 const v1::GenerateRequest& request,
                                 grpc::ServerWriter<v1::GenerateEvent>* writer);

  // Waits for the work; CANCELLED as soon as the call is (the client went, or the server stops; the
  // work goes on). So `work` may borrow from the service only. `context` may be null.
  absl::Status Run(grpc::ServerContext* context, std::string name,
                   std::function<absl::Status()> work);
  // The same for one who holds the trainer.
  absl::Status RunFor(const v1::Holder& holder, grpc::ServerContext* context, std::string name,
                      std::function<absl::Status()> work);

  const std::string unused_gpu_;
  RankGroup alone_;
  RankGroup& ranks_;
  const SteadyClock clock_;
  TrainerGate gate_{&clock_};
  DistributedTrainer trainer_;  // Only the compute thread uses it, but for its Info.
  // The compute thread comes last: it uses all of the above.
  mutable ComputeThread compute_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_TRAINER_SERVICE_H_
