#include "coordinator/loop/portable.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/host.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_rules.h"
#include "coordinator/journal/worker_list.h"
#include "coordinator/services/cluster.h"

namespace whetstone {
namespace {

// What is missing of a cluster, by the service's name. Thread-safe.
class MissingServices {
 public:
  void Hear(const ServiceEvent& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (event.state == ServiceEvent::State::kReady) missing_.erase(event.service);
    if (event.state == ServiceEvent::State::kLost || event.state == ServiceEvent::State::kFailed) {
      missing_[event.service] = event.detail;
    }
  }
  // Returns why it is missing; nothing if it is not.
  std::string Why(const std::string& service) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = missing_.find(service);
    return found == missing_.end() ? "" : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> missing_;  // protected by mutex_
};

absl::StatusOr<v1::Verdict> MeasureOn(AskedWorker* worker, const v1::Problem& problem,
                                      const std::string& source, v1::IsolationLevel isolation_min) {
  // The worker keeps this calibration for campaigns that come later, so it is one that was
  // measured.
  RETURN_IF_ERROR(worker->Put(problem, v1::PutProblemRequest::MEASURED, isolation_min).status());
  return worker->Measure(problem, source, /*time=*/true, /*fresh=*/true);
}

// Returns the workers that are asked, and how they are reached.
absl::StatusOr<ClusterOptions> WorkersToAsk(const CampaignPlan& plan, const RunPaths& paths,
                                            const std::string& workers_file) {
  ClusterOptions options;
  options.campaign = plan.campaign;
  if (!workers_file.empty()) {
    ASSIGN_OR_RETURN(v1::ClusterConfig cluster,
                     ReadClusterFile(workers_file, plan.campaign.cluster()));
    options.campaign.clear_cluster();
    if (!cluster.workers(0).ssh().empty()) *options.campaign.mutable_cluster() = cluster;
    options.worker_list.emplace();
    options.worker_list->mutable_workers()->Swap(cluster.mutable_workers());
  } else {
    ASSIGN_OR_RETURN(options.worker_list, ReadWorkerList(paths, WorkerListOf(plan.campaign)));
  }
  const auto& workers = options.worker_list->workers();
  if (workers.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("every worker of ", paths.root(), " has left; name others: --workers FILE"));
  }
  const bool own = std::any_of(workers.begin(), workers.end(), [](const v1::WorkerHost& worker) {
    return worker.ssh().empty() && worker.socket().empty();
  });
  const std::optional<RunOwner> owner = RunDir::Owner(paths);
  if (own && owner && owner->here()) {
    return absl::FailedPreconditionError(
        absl::StrCat(paths.root(), " is in use by ", owner->text(),
                     " on this machine, and timing beside it would spoil both; wait for its end, "
                     "or name other workers: --workers FILE"));
  }
  return options;
}

}  // namespace

Portability AskForPortability(const CampaignPlan& plan, const Incumbents& incumbents,
                              const std::vector<NamedWorker>& workers,
                              const std::function<void(const std::string&)>& say) {
  struct Asked {
    v1::WorkerInfo info;
    AskedWorker* worker;
  };
  Portability found;
  std::vector<Asked> asked;
  for (const NamedWorker& named : workers) {
    say(absl::StrCat("asking ", named.name, " for its CPU model"));
    absl::StatusOr<v1::WorkerInfo> info = named.worker->Info();
    if (!info.ok()) {
      found.unreached.push_back({named.name, std::string(info.status().message())});
    } else if (std::find(found.cpu_models.begin(), found.cpu_models.end(), info->cpu_model()) ==
               found.cpu_models.end()) {
      found.cpu_models.push_back(info->cpu_model());
      asked.push_back({*std::move(info), named.worker.get()});
    }
  }
  std::vector<const v1::Problem*> problems;
  for (const PlannedProblem& planned : plan.problems) {
    const auto incumbent = incumbents.find(planned.problem.id());
    if (incumbent == incumbents.end()) continue;
    problems.push_back(&planned.problem);
    found.programs.push_back({.problem = incumbent->first,
                              .step = incumbent->second.step,
                              .source = incumbent->second.source,
                              .results = std::vector<PortableResult>(asked.size())});
  }
  const v1::IsolationLevel isolation_min = IsolationMin(plan.campaign);
  std::vector<std::thread> threads;
  for (size_t m = 0; m < asked.size(); ++m) {
    threads.emplace_back([&, m] {
      const v1::WorkerInfo& info = asked[m].info;
      for (size_t p = 0; p < problems.size(); ++p) {
        PortableProgram& program = found.programs[p];
        say(absl::StrCat("measuring ", program.problem, " on ", info.cpu_model(), " (",
                         info.hostname(), ")"));
        PortableResult& result = program.results[m];
        result.cpu_model = info.cpu_model();
        result.worker = info.hostname();
        absl::StatusOr<v1::Verdict> verdict =
            MeasureOn(asked[m].worker, *problems[p], program.source, isolation_min);
        if (verdict.ok()) {
          result.verdict = *std::move(verdict);
        } else {
          result.error = std::string(verdict.status().message());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found;
}

absl::StatusOr<Portability> MeasurePortability(const CampaignPlan& plan, const RunPaths& paths,
                                               const Incumbents& incumbents,
                                               const std::string& workers_file,
                                               StopSignals* signals, Console* console) {
  ASSIGN_OR_RETURN(ClusterOptions options, WorkersToAsk(plan, paths, workers_file));
  ASSIGN_OR_RETURN(const TempDir logs, TempDir::Make("whet"));
  MissingServices missing;
  options.log_dir = logs.path();
  options.with_trainer = false;
  options.workers_may_be_missing = true;
  options.cancelled = [signals] { return signals->stopped(); };
  options.on_event = [&missing, console](const ServiceEvent& event) {
    missing.Hear(event);
    if (!event.detail.empty()) console->Status(event.detail);
  };
  console->Status("reaching the workers");
  ASSIGN_OR_RETURN(const std::unique_ptr<Cluster> cluster, OpenCluster(std::move(options)));
  const std::string candidates =
      absl::StrCat("portable-", Hostname(), "-", getpid(), "-", UnixMicros());
  std::vector<NamedWorker> workers;
  std::vector<UnreachedWorker> unreached;
  for (const Endpoint& endpoint : cluster->workers()) {
    if (const std::string why = missing.Why(endpoint.name); !why.empty()) {
      unreached.push_back({endpoint.name, why});
      continue;
    }
    workers.push_back({endpoint.name, std::make_unique<AskedWorker>(
                                          MakeGrpcWorkerClient(endpoint.target), candidates)});
  }
  signals->OnStop([&workers] {
    for (const NamedWorker& named : workers) named.worker->Cancel();
  });
  Portability found = AskForPortability(
      plan, incumbents, workers, [console](const std::string& text) { console->Status(text); });
  signals->OnStop(nullptr);
  if (signals->stopped()) return absl::CancelledError("stopped; what was measured is not kept");
  found.unreached.insert(found.unreached.begin(), unreached.begin(), unreached.end());
  std::string whys;
  for (const UnreachedWorker& worker : found.unreached) {
    const std::string why = absl::StrCat("left out: ", worker.worker, ": ", worker.why);
    absl::StrAppend(&whys, "\n", why);
    if (!found.cpu_models.empty()) console->Notice(why);
  }
  if (found.cpu_models.empty()) {
    return absl::UnavailableError(absl::StrCat("no worker answers", whys));
  }
  return found;
}

}  // namespace whetstone
