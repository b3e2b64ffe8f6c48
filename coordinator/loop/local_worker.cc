#include "coordinator/loop/local_worker.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/problem/problem_hash.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/config/campaign_parser.h"

namespace whetstone {
namespace {

constexpr int kAttempts = 2;  // to measure a program that the worker fails on
// So begins what a worker says of a reference that does not come to its end (paired_run.cc).
constexpr char kReferenceFailed[] = "the problem's reference ";

CallOptions Within(Seconds seconds) {
  return {std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)), nullptr};
}

}  // namespace

LocalWorker::LocalWorker(TempDir logs, std::unique_ptr<Cluster> cluster)
    : logs_(std::move(logs)),
      cluster_(std::move(cluster)),
      client_(MakeGrpcWorkerClient(cluster_->workers().front().target)) {}

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

absl::StatusOr<v1::Calibration> LocalWorker::Put(const v1::Problem& problem,
                                                 v1::PutProblemRequest::Keeping keeping) {
  v1::PutProblemRequest request;
  request.set_keeping(keeping);
  return Put(problem, std::move(request));
}

absl::StatusOr<v1::Calibration> LocalWorker::PutUncalibrated(const v1::Problem& problem) {
  // A calibration that the worker has is one that it does not measure.
  v1::PutProblemRequest request;
  request.mutable_calibration()->mutable_expert()->set_outcome(v1::CORRECT);
  return Put(problem, std::move(request));
}

absl::StatusOr<v1::Calibration> LocalWorker::Put(const v1::Problem& problem,
                                                 v1::PutProblemRequest request) {
  *request.mutable_problem() = problem;
  request.set_problem_hash(ProblemHash(problem));
  ASSIGN_OR_RETURN(v1::PutProblemResponse reply,
                   client_->PutProblem(request, Within(PutProblemDeadline(problem))));
  return std::move(*reply.mutable_calibration());
}

absl::StatusOr<v1::Verdict> LocalWorker::Measure(const v1::Problem& problem,
                                                 const std::string& source, bool time, bool fresh,
                                                 double least_speedup) {
  v1::MeasureRequest request;
  request.set_problem_hash(ProblemHash(problem));
  request.set_source(source);
  request.set_time(time);
  request.set_fresh(fresh);
  request.set_least_speedup(least_speedup);
  request.set_seed(17);
  std::string detail;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    request.set_candidate_id(absl::StrCat("local-", getpid(), "/", ++candidates_));
    ASSIGN_OR_RETURN(v1::MeasureResponse reply,
                     client_->Measure(request, Within(MeasureDeadline(problem))));
    if (reply.verdict().outcome() != v1::INFRASTRUCTURE_ERROR) {
      return std::move(*reply.mutable_verdict());
    }
    detail = reply.verdict().detail();
  }
  if (absl::StartsWith(detail, kReferenceFailed)) return absl::InvalidArgumentError(detail);
  return absl::InternalError(absl::StrCat("the worker could not measure: ", detail));
}

absl::StatusOr<LocalWorker*> WorkerOnDemand::Get() {
  if (worker_ == nullptr) {
    console_->Status("starting a worker");
    ASSIGN_OR_RETURN(worker_, LocalWorker::Start());
  }
  return worker_.get();
}

}  // namespace whetstone
