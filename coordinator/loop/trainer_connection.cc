#include "coordinator/loop/trainer_connection.h"

#include <utility>

#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<std::unique_ptr<TrainerConnection>> TrainerConnection::Open(
    const v1::Campaign& campaign, const std::string& log_dir, StopSignals* signals,
    Console* console) {
  ClusterOptions services;
  services.campaign = campaign;
  services.log_dir = log_dir;
  auto relay = std::make_unique<ServiceRelay>(
      [console](const std::string& detail) { console->Status(detail); });
  services.on_event = [heard = relay.get()](const ServiceEvent& event) { heard->Hear(event); };
  services.cancelled = StoppedWhileOpening(relay.get(), signals, console);
  services.worker_list.emplace();  // no workers
  ASSIGN_OR_RETURN(std::unique_ptr<Cluster> cluster, OpenCluster(std::move(services)));
  return std::unique_ptr<TrainerConnection>(
      new TrainerConnection(std::move(relay), std::move(cluster), signals));
}

TrainerConnection::TrainerConnection(std::unique_ptr<ServiceRelay> relay,
                                     std::unique_ptr<Cluster> cluster, StopSignals* signals)
    : relay_(std::move(relay)),
      cluster_(std::move(cluster)),
      client_(MakeGrpcTrainerClient(cluster_->trainer().target)),
      signals_(signals) {
  signals_->OnStop([this] { control_.Cancel(); });
}

TrainerConnection::~TrainerConnection() { signals_->OnStop(nullptr); }

}  // namespace whetstone
