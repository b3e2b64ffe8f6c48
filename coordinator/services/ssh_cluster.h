// A cluster behind SSH has one tunnel per host, all opened at once.
#ifndef WHETSTONE_COORDINATOR_SERVICES_SSH_CLUSTER_H_
#define WHETSTONE_COORDINATOR_SERVICES_SSH_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/services/cluster.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {

struct RemoteService {
  std::string name;    // as Endpoint::name
  std::string host;    // as TunnelOptions::host
  std::string socket;  // on that host
};

// Returns the services a campaign's `cluster` names, the trainer first.
std::vector<RemoteService> RemoteServices(const v1::ClusterConfig& cluster);

// Returns tunnel options for `service` under the campaign's ssh_config, listening on
// `local_socket`.
TunnelOptions TunnelTo(const RemoteService& service, const v1::ClusterConfig& cluster,
                       const std::string& local_socket);

// Opens a tunnel of the kind that the campaign chose (cluster.tunnel). Errors are those of
// OpenLibsshTunnel.
absl::StatusOr<std::unique_ptr<Tunnel>> OpenTunnel(const v1::ClusterConfig& cluster,
                                                   const TunnelOptions& options);

// Does what OpenCluster does, for a campaign with `cluster`.
absl::StatusOr<std::unique_ptr<Cluster>> ConnectSshCluster(const ClusterOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_SSH_CLUSTER_H_
