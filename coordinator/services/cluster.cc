#include "coordinator/services/cluster.h"

#include "coordinator/services/local_cluster.h"
#include "coordinator/services/ssh_cluster.h"

namespace whetstone {

v1::WorkerList WorkerListOf(const v1::Campaign& campaign) {
  v1::WorkerList roster;
  if (campaign.has_cluster()) {
    *roster.mutable_workers() = campaign.cluster().workers();
  } else {
    roster.add_workers();  // the one that is started here
  }
  return roster;
}

absl::StatusOr<std::unique_ptr<Cluster>> OpenCluster(ClusterOptions options) {
  if (!options.roster) options.roster = WorkerListOf(options.campaign);
  return options.campaign.has_cluster() ? ConnectSshCluster(options) : StartLocalCluster(options);
}

}  // namespace whetstone
