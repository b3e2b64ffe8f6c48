#include "coordinator/services/cluster.h"

#include "coordinator/services/local_cluster.h"
#include "coordinator/services/ssh_cluster.h"

namespace whetstone {

v1::WorkerList WorkerListOf(const v1::Campaign& campaign) {
  v1::WorkerList worker_list;
  if (campaign.has_cluster()) {
    *worker_list.mutable_workers() = campaign.cluster().workers();
  } else {
    worker_list.add_workers();  // this one is started here
  }
  return worker_list;
}

absl::StatusOr<std::unique_ptr<Cluster>> OpenCluster(ClusterOptions options) {
  if (!options.worker_list) options.worker_list = WorkerListOf(options.campaign);
  return options.campaign.has_cluster() ? ConnectSshCluster(options) : StartLocalCluster(options);
}

}  // namespace whetstone
