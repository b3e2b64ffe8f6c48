// A local cluster is one machine: trainer and worker are children of this process, on unix sockets
// in a short private directory.
#ifndef WHETSTONE_COORDINATOR_SERVICES_LOCAL_CLUSTER_H_
#define WHETSTONE_COORDINATOR_SERVICES_LOCAL_CLUSTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "coordinator/services/cluster.h"

namespace whetstone {

// Does what OpenCluster does, for a campaign without `cluster`.
absl::StatusOr<std::unique_ptr<Cluster>> StartLocalCluster(const ClusterOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_LOCAL_CLUSTER_H_
