// A TrainerConnection is to a campaign's trainer alone, for commands that need no workers (`whet
// replay`, `whet fetch`): the trainer is started or connected to, ready, and gone with the object.
// A stop signal cancels the calls to it.
#ifndef WHETSTONE_COORDINATOR_LOOP_TRAINER_CONNECTION_H_
#define WHETSTONE_COORDINATOR_LOOP_TRAINER_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/loop/service_relay.h"
#include "coordinator/rpc/call_options.h"
#include "coordinator/rpc/trainer_client.h"
#include "coordinator/services/cluster.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

class TrainerConnection {
 public:
  // `log_dir` is as in ClusterOptions. `signals` and `console` are borrowed for the object's life.
  // Errors are those of OpenCluster.
  static absl::StatusOr<std::unique_ptr<TrainerConnection>> Open(const v1::Campaign& campaign,
                                                                 const std::string& log_dir,
                                                                 StopSignals* signals,
                                                                 Console* console);
  ~TrainerConnection();

  TrainerClient* client() const { return client_.get(); }
  // Returns the control to give to every call.
  CallControl* control() { return &control_; }
  // Returns OK, or why the trainer can't be had any more.
  absl::Status status() const { return cluster_->status(); }

 private:
  TrainerConnection(std::unique_ptr<ServiceRelay> relay, std::unique_ptr<Cluster> cluster,
                    StopSignals* signals);

  const std::unique_ptr<ServiceRelay> relay_;  // it hears the cluster
  const std::unique_ptr<Cluster> cluster_;
  const std::unique_ptr<TrainerClient> client_;
  CallControl control_;
  StopSignals* const signals_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_TRAINER_CONNECTION_H_
