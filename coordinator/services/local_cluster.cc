#include "coordinator/services/local_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"
#include "coordinator/services/local_service.h"

namespace whetstone {
namespace {

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
  LocalCluster(TempDir dir, ServiceListener listener)
      : dir_(std::move(dir)), listener_(std::move(listener)) {}

  ~LocalCluster() override {
    for (const auto& service : services_) service->BeginStop();
  }

  void Add(bool is_trainer, std::vector<std::string> argv, const ClusterOptions& options) {
    LocalServiceOptions service;
    service.name = is_trainer ? "trainer" : "worker";
    service.target = absl::StrCat("unix:", dir_.path(), "/", service.name, ".sock");
    service.argv = std::move(argv);
    service.argv.insert(service.argv.end(), {"--listen", service.target});
    service.log_path = absl::StrCat(options.log_dir, "/", service.name, ".log");
    service.start_deadline = options.deadline;
    service.on_event = [this](const ServiceEvent& event) {
      const std::lock_guard<std::mutex> lock(listener_mutex_);
      if (listener_) listener_(event);
    };
    const Endpoint endpoint{service.name, service.target};
    if (is_trainer) {
      trainer_ = endpoint;
    } else {
      workers_.push_back(endpoint);
    }
    services_.push_back(std::make_unique<LocalService>(std::move(service)));
  }

  absl::Status WaitReady(const std::function<bool()>& cancelled) {
    for (const auto& service : services_) RETURN_IF_ERROR(service->WaitReady(cancelled));
    return absl::OkStatus();
  }

  const Endpoint& trainer() const override { return trainer_; }
  const std::vector<Endpoint>& workers() const override { return workers_; }
  bool is_local() const override { return true; }
  absl::Status status() const override {
    for (const auto& service : services_) RETURN_IF_ERROR(service->status());
    return absl::OkStatus();
  }

 private:
  const TempDir dir_;
  std::mutex listener_mutex_;
  const ServiceListener listener_;
  Endpoint trainer_;
  std::vector<Endpoint> workers_;
  std::vector<std::unique_ptr<LocalService>> services_;
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
  if (options.with_workers) {
    ASSIGN_OR_RETURN(const std::string binary, FindBinary(options.bin_dir, "whet-worker"));
    worker = {binary, "serve"};
  }
  RETURN_IF_ERROR(MakeDirectories(options.log_dir));
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("whet"));

  auto cluster = std::make_unique<LocalCluster>(std::move(dir), options.on_event);
  if (options.with_trainer) cluster->Add(true, std::move(trainer), options);
  if (options.with_workers) cluster->Add(false, std::move(worker), options);
  RETURN_IF_ERROR(cluster->WaitReady(options.cancelled));
  return std::unique_ptr<Cluster>(std::move(cluster));
}

}  // namespace whetstone
