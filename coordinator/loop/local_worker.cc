#include "coordinator/loop/local_worker.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"

namespace whetstone {

LocalWorker::LocalWorker(TempDir logs, std::unique_ptr<Cluster> cluster)
    : AskedWorker(MakeGrpcWorkerClient(cluster->workers().front().target),
                  absl::StrCat("local-", getpid())),
      logs_(std::move(logs)),
      cluster_(std::move(cluster)) {}

absl::StatusOr<std::unique_ptr<LocalWorker>> LocalWorker::Start() {
  ASSIGN_OR_RETURN(TempDir logs, TempDir::Make("whet"));
  ClusterOptions options;
  // Without a cluster section the worker runs here; nothing else of the campaign matters to it.
  ASSIGN_OR_RETURN(options.campaign, ParseCampaign("name: local\nmodel: /none\nproblems: [none]\n",
                                                   "local", "/", {}));
  options.log_dir = logs.path();
  options.with_trainer = false;
  ASSIGN_OR_RETURN(std::unique_ptr<Cluster> cluster, OpenCluster(std::move(options)));
  return std::unique_ptr<LocalWorker>(new LocalWorker(std::move(logs), std::move(cluster)));
}

absl::StatusOr<v1::Calibration> LocalWorker::PutUncalibrated(const v1::Problem& problem) {
  // A calibration that the worker has is one that it does not measure.
  v1::PutProblemRequest request;
  request.mutable_calibration()->mutable_expert()->set_outcome(v1::CORRECT);
  return Put(problem, std::move(request));
}

absl::StatusOr<LocalWorker*> WorkerOnDemand::Get() {
  if (worker_ == nullptr) {
    console_->Status("starting a worker");
    ASSIGN_OR_RETURN(worker_, LocalWorker::Start());
  }
  return worker_.get();
}

}  // namespace whetstone
