#include "coordinator/services/local_cluster.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/services/connect_retrier.h"
#include "coordinator/services/endpoint_command.h"
#include "coordinator/services/health.h"
#include "coordinator/services/local_service.h"
#include "coordinator/services/open_services.h"

namespace whetstone {
namespace {

constexpr char kTrainerName[] = "trainer";
constexpr std::chrono::seconds kAttemptDeadline{2};

class LocalCluster final : public Cluster {
 public:
  LocalCluster(TempDir dir, const ClusterOptions& options)
      : dir_(std::move(dir)), open_(options.on_event) {}

  ~LocalCluster() override {
    open_
        .ForEach([](LocalService& service) {
          service.BeginStop();
          return absl::OkStatus();
        })
        .IgnoreError();
  }

  // Starts a service in the background.
  void Start(const std::string& name, std::vector<std::string> argv,
             const ClusterOptions& options) {
    LocalServiceOptions service;
    service.name = name;
    service.target = absl::StrCat("unix:", dir_.path(), "/", name, ".sock");
    service.argv = std::move(argv);
    service.argv.insert(service.argv.end(), {"--listen", service.target});
    service.log_path = absl::StrCat(options.log_dir, "/", name, ".log");
    service.start_deadline = options.deadline;
    service.on_event = [this](const ServiceEvent& event) { open_.Report(event); };
    const Endpoint endpoint{name, service.target, {}};
    if (name == kTrainerName) {
      trainer_ = endpoint;
    } else {
      open_.AddWorker(endpoint);
    }
    open_.Keep(name, std::make_unique<LocalService>(std::move(service)));
  }

  absl::Status WaitReady(const std::function<bool()>& cancelled) {
    return open_.ForEach([&](LocalService& service) { return service.WaitReady(cancelled); });
  }

  const Endpoint& trainer() const override { return trainer_; }
  std::vector<Endpoint> workers() const override { return open_.workers(); }
  absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost& address,
                                     const std::function<bool()>& cancelled) override {
    retrier_.AwaitForgotten();
    ASSIGN_OR_RETURN(const Endpoint endpoint, NewEndpoint(address));
    if (access(address.socket().c_str(), F_OK) != 0) {
      return absl::NotFoundError(absl::StrCat(
          "there is no socket ", address.socket(),
          "; start a worker on it first: whet-worker serve --listen unix:", address.socket()));
    }
    const absl::Status health = CheckServing(endpoint.target, kHealthDeadline, cancelled);
    if (!health.ok()) {
      return absl::Status(health.code(), absl::StrCat(endpoint.name, ": ", health.message()));
    }
    open_.Report({endpoint.name, ServiceEvent::State::kReady, "", false});
    open_.AddWorker(endpoint);
    return endpoint;
  }

  // Connects to the workers that listen on sockets of this machine.
  absl::Status AddWorkers(const std::vector<v1::WorkerHost>& addresses,
                          const ClusterOptions& options) {
    const bool some_are_here = !workers().empty();
    for (const v1::WorkerHost& address : addresses) {
      ASSIGN_OR_RETURN(const Endpoint endpoint, NewEndpoint(address));
      open_.AddWorker(endpoint);
      retrier_.Start(
          endpoint.name, /*necessary=*/!options.workers_may_be_missing,
          [this, endpoint](const ConnectRetrier::Stopped& stopped) -> absl::Status {
            RETURN_IF_ERROR(CheckServing(endpoint.target, kAttemptDeadline, stopped));
            open_.Report({endpoint.name, ServiceEvent::State::kReady, "", false});
            return absl::OkStatus();
          },
          [this, name = endpoint.name](const absl::Status& why, bool permanent) {
            open_.ReportMissing(name, why, permanent);
          });
    }
    return retrier_.Wait({.at_least = some_are_here ? 0 : 1,
                          .deadline = options.deadline,
                          .cancelled = options.cancelled});
  }

  void RemoveWorker(const std::string& name) override {
    retrier_.Forget(name);
    open_.RemoveWorker(name);
  }
  bool is_local() const override { return true; }
  absl::Status status() const override {
    return open_.ForEach([](const LocalService& service) { return service.status(); });
  }

 private:
  // Returns the endpoint of a socket that somebody else's worker listens on. Nothing watches that
  // process: whether it lives shows when it is called.
  absl::StatusOr<Endpoint> NewEndpoint(const v1::WorkerHost& address) const {
    if (!address.ssh().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", address.ssh(),
          "': this run has its services on this machine; name the socket of a worker "
          "here (/PATH), or give the campaign a 'cluster' to reach hosts through SSH"));
    }
    Endpoint endpoint{absl::StrCat("worker ", address.socket()),
                      absl::StrCat("unix:", address.socket()), address};
    for (const Endpoint& worker : workers()) {
      if (worker.name == endpoint.name) {
        return absl::AlreadyExistsError(
            absl::StrCat(address.socket(), " is one of this run's workers"));
      }
    }
    return endpoint;
  }

  const TempDir dir_;
  Endpoint trainer_;
  OpenServices<LocalService> open_;
  ConnectRetrier retrier_;  // it is last, as its attempts use all the others
};

// Returns how the service that writes the programs is started.
absl::StatusOr<std::vector<std::string>> TrainerCommand(const ClusterOptions& options) {
  const v1::PolicyConfig& policy = options.campaign.policy();
  if (!policy.endpoint().empty()) {
    return ServeEndpointCommand(policy, absl::StrCat(options.log_dir, "/endpoint_usage.jsonl"),
                                options.bin_dir);
  }
  const v1::LocalConfig& local = options.campaign.local();
  ASSIGN_OR_RETURN(const std::string binary, FindServiceBinary(options.bin_dir, "whet-trainer"));
  std::vector<std::string> command = {binary};
  const int ranks = std::max(1, local.ranks());
  if (ranks > 1) {
    command.insert(command.end(), {"launch", "--nproc", absl::StrCat(ranks), "--"});
  }
  command.insert(command.end(), {"serve", "--threads", absl::StrCat(local.threads() / ranks)});
  if (!local.dtype().empty()) command.insert(command.end(), {"--dtype", local.dtype()});
  if (!local.device().empty()) command.insert(command.end(), {"--device", local.device()});
  return command;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cluster>> StartLocalCluster(const ClusterOptions& options) {
  std::vector<std::string> trainer, worker;
  if (options.with_trainer) {
    ASSIGN_OR_RETURN(trainer, TrainerCommand(options));
  }
  const auto own = [](const v1::WorkerHost& address) {
    return address.ssh().empty() && address.socket().empty();
  };
  const auto& addresses = options.worker_list->workers();
  const bool with_own = std::any_of(addresses.begin(), addresses.end(), own);
  if (with_own) {
    ASSIGN_OR_RETURN(const std::string binary, FindServiceBinary(options.bin_dir, "whet-worker"));
    worker = {binary, "serve"};
  }
  RETURN_IF_ERROR(MakeDirectories(options.log_dir));
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("whet"));

  auto cluster = std::make_unique<LocalCluster>(std::move(dir), options);
  if (options.with_trainer) cluster->Start(kTrainerName, std::move(trainer), options);
  if (with_own) cluster->Start("worker", std::move(worker), options);
  RETURN_IF_ERROR(cluster->WaitReady(options.cancelled));
  std::vector<v1::WorkerHost> others(addresses.begin(), addresses.end());
  std::erase_if(others, own);
  RETURN_IF_ERROR(cluster->AddWorkers(others, options));
  return std::unique_ptr<Cluster>(std::move(cluster));
}

}  // namespace whetstone
