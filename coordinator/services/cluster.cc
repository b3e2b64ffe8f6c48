#include "coordinator/services/cluster.h"

#include "coordinator/services/local_cluster.h"
#include "coordinator/services/ssh_cluster.h"

namespace whetstone {

absl::StatusOr<std::unique_ptr<Cluster>> OpenCluster(ClusterOptions options) {
  return options.campaign.has_cluster() ? ConnectSshCluster(options) : StartLocalCluster(options);
}

}  // namespace whetstone
