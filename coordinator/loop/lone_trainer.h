// A campaign's trainer without its workers, for commands that only ask it something (`whet replay`,
// `whet fetch`): started or connected to, ready, and gone with the object. A stop signal cancels
// what it is asked.
#ifndef WHETSTONE_COORDINATOR_LOOP_LONE_TRAINER_H_
#define WHETSTONE_COORDINATOR_LOOP_LONE_TRAINER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/rpc/call_options.h"
#include "coordinator/rpc/trainer_client.h"
#include "coordinator/services/cluster.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

class LoneTrainer {
 public:
  // `log_dir`: as in ClusterOptions. `signals` and `console` are borrowed for the object's life.
  // Errors as of OpenCluster.
  static absl::StatusOr<std::unique_ptr<LoneTrainer>> Open(const v1::Campaign& campaign,
                                                           const std::string& log_dir,
                                                           StopSignals* signals, Console* console);
  ~LoneTrainer();

  TrainerClient* client() const { return client_.get(); }
  // For every call.
  CallControl* control() { return &control_; }
  // Why it is gone for good, if it is.
  absl::Status status() const { return cluster_->status(); }

 private:
  LoneTrainer(std::unique_ptr<Cluster> cluster, StopSignals* signals);

  const std::unique_ptr<Cluster> cluster_;
  const std::unique_ptr<TrainerClient> client_;
  CallControl control_;
  StopSignals* const signals_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_LONE_TRAINER_H_
