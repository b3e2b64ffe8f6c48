#include "coordinator/services/local_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"
#include "coordinator/services/health.h"
#include "coordinator/services/late_closer.h"
#include "coordinator/services/local_service.h"

namespace whetstone {
namespace {

constexpr char kTrainerName[] = "trainer";
constexpr std::chrono::seconds kHealthDeadline{10};

absl::StatusOr<std::string> FindBinary(const std::string& bin_dir, const std::string& name) {
  const std::string path = absl::StrCat(bin_dir.empty() ? ProgramDirectory() : bin_dir, "/", name);
  if (access(path.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(path,
                                            " is missing: the services lie beside whet; "
                                            "build or install them together"));
  }
  return path;
}

class LocalCluster final : public Cluster {
 public:
  LocalCluster(TempDir dir, const ClusterOptions& options)
      : dir_(std::move(dir)), listener_(options.on_event) {}

  ~LocalCluster() override {
    for (const auto& [name, service] : services_) service->BeginStop();
  }

  // In the background.
  void Start(const std::string& name, std::vector<std::string> argv,
             const ClusterOptions& options) {
    LocalServiceOptions service;
    service.name = name;
    service.target = absl::StrCat("unix:", dir_.path(), "/", name, ".sock");
    service.argv = std::move(argv);
    service.argv.insert(service.argv.end(), {"--listen", service.target});
    service.log_path = absl::StrCat(options.log_dir, "/", name, ".log");
    service.start_deadline = options.deadline;
    service.on_event = [this](const ServiceEvent& event) { Report(event); };
    const Endpoint endpoint{name, service.target, {}};
    if (name == kTrainerName) {
      trainer_ = endpoint;
    } else {
      workers_.push_back(endpoint);
    }
    services_[name] = std::make_unique<LocalService>(std::move(service));
  }

  absl::Status WaitReady(const std::function<bool()>& cancelled) {
    for (const auto& [name, service] : services_) RETURN_IF_ERROR(service->WaitReady(cancelled));
    return absl::OkStatus();
  }

  const Endpoint& trainer() const override { return trainer_; }
  std::vector<Endpoint> workers() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return workers_;
  }
  // A socket that somebody else's worker listens on. Nothing watches that process: whether it lives
  // shows when it is called.
  absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost& place,
                                     const std::function<bool()>&) override {
    if (!place.ssh().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", place.ssh(),
          "': this run has its services on this machine; name the socket of a worker "
          "here (/PATH), or give the campaign a 'cluster' to reach hosts through SSH"));
    }
    Endpoint endpoint{absl::StrCat("worker ", place.socket()),
                      absl::StrCat("unix:", place.socket()), place};
    for (const Endpoint& worker : workers()) {
      if (worker.name == endpoint.name) {
        return absl::AlreadyExistsError(
            absl::StrCat(place.socket(), " is one of this run's workers"));
      }
    }
    const absl::Status health = CheckServing(endpoint.target, kHealthDeadline);
    if (!health.ok()) {
      return absl::Status(health.code(), absl::StrCat(endpoint.name, ": ", health.message()));
    }
    Report({endpoint.name, ServiceEvent::State::kReady, "", false});
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.push_back(endpoint);
    return endpoint;
  }
  void RemoveWorker(const std::string& name) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.erase(std::remove_if(workers_.begin(), workers_.end(),
                                  [&](const Endpoint& worker) { return worker.name == name; }),
                   workers_.end());
    const auto service = services_.find(name);
    if (service == services_.end()) return;
    closer_.Close(std::move(service->second));
    services_.erase(service);
  }
  bool is_local() const override { return true; }
  absl::Status status() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, service] : services_) RETURN_IF_ERROR(service->status());
    return absl::OkStatus();
  }

 private:
  void Report(const ServiceEvent& event) {
    const std::lock_guard<std::mutex> lock(listener_mutex_);
    if (listener_) listener_(event);
  }

  const TempDir dir_;
  std::mutex listener_mutex_;
  const ServiceListener listener_;
  Endpoint trainer_;
  mutable std::mutex mutex_;
  std::vector<Endpoint> workers_;  // these three protected by mutex_ once the cluster is open
  std::map<std::string, std::unique_ptr<LocalService>> services_;  // by Endpoint::name
  LateCloser closer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Cluster>> StartLocalCluster(const ClusterOptions& options) {
  std::vector<std::string> trainer, worker;
  if (options.with_trainer) {
    const v1::LocalConfig& local = options.campaign.local();
    ASSIGN_OR_RETURN(const std::string binary, FindBinary(options.bin_dir, "whet-trainer"));
    trainer = {binary};
    const int ranks = std::max(1, local.ranks());
    if (ranks > 1) {
      trainer.insert(trainer.end(), {"launch", "--nproc", absl::StrCat(ranks), "--"});
    }
    trainer.insert(trainer.end(), {"serve", "--threads", absl::StrCat(local.threads() / ranks)});
    if (!local.dtype().empty()) trainer.insert(trainer.end(), {"--dtype", local.dtype()});
    if (!local.device().empty()) trainer.insert(trainer.end(), {"--device", local.device()});
  }
  const auto own = [](const v1::WorkerHost& place) {
    return place.ssh().empty() && place.socket().empty();
  };
  const auto& places = options.roster->workers();
  const bool with_own = std::any_of(places.begin(), places.end(), own);
  if (with_own) {
    ASSIGN_OR_RETURN(const std::string binary, FindBinary(options.bin_dir, "whet-worker"));
    worker = {binary, "serve"};
  }
  RETURN_IF_ERROR(MakeDirectories(options.log_dir));
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("whet"));

  auto cluster = std::make_unique<LocalCluster>(std::move(dir), options);
  if (options.with_trainer) cluster->Start(kTrainerName, std::move(trainer), options);
  if (with_own) cluster->Start("worker", std::move(worker), options);
  RETURN_IF_ERROR(cluster->WaitReady(options.cancelled));
  for (const v1::WorkerHost& place : places) {
    if (!own(place)) RETURN_IF_ERROR(cluster->AddWorker(place, options.cancelled).status());
  }
  return std::unique_ptr<Cluster>(std::move(cluster));
}

}  // namespace whetstone
