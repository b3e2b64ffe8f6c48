#include "coordinator/services/ssh_cluster.h"

#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/config/default_sockets.h"
#include "coordinator/services/connect_retrier.h"
#include "coordinator/services/health.h"
#include "coordinator/services/open_services.h"

namespace whetstone {
namespace {

// Names a worker; several on one host are numbered.
RemoteService WorkerService(const v1::WorkerHost& worker, const std::set<std::string>& taken) {
  const std::string plain = absl::StrCat("worker ", worker.ssh());
  std::string name = plain;
  for (int n = 2; taken.count(name) > 0; ++n) name = absl::StrCat(plain, "#", n);
  return {name, worker.ssh(), worker.socket().empty() ? kDefaultWorkerSocket : worker.socket()};
}

class SshCluster final : public Cluster {
 public:
  SshCluster(TempDir dir, const ClusterOptions& options)
      : dir_(std::move(dir)), config_(options.campaign.cluster()), open_(options.on_event) {}

  // Opens every tunnel at once; returns the first error, or all of them in one, when several hosts
  // fail.
  absl::Status Connect(const ClusterOptions& options) {
    v1::ClusterConfig cluster = config_;
    *cluster.mutable_workers() = options.worker_list->workers();
    bool is_trainer = true;
    for (const RemoteService& service : RemoteServices(cluster)) {
      const bool wanted = !is_trainer || options.with_trainer;
      const Endpoint endpoint = NewEndpoint(service);
      const bool necessary = is_trainer || !options.workers_may_be_missing;
      if (!is_trainer) {
        open_.AddWorker(endpoint);
      } else if (wanted) {
        trainer_ = endpoint;
      }
      is_trainer = false;
      if (!wanted) continue;
      Connecting(service);
      retrier_.Start(
          service.name, necessary,
          [this, service, endpoint](const ConnectRetrier::Stopped& stopped) {
            return Open(service, endpoint, stopped);
          },
          [this, name = service.name](const absl::Status& why, bool permanent) {
            open_.ReportMissing(name, why, permanent);
          });
    }
    return retrier_.Wait(
        {.at_least = 1, .deadline = options.deadline, .cancelled = options.cancelled});
  }

  const Endpoint& trainer() const override { return trainer_; }
  std::vector<Endpoint> workers() const override { return open_.workers(); }
  absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost& address,
                                     const std::function<bool()>& cancelled) override {
    if (address.ssh().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", address.socket(),
                       "' is a socket of this machine, but this run's workers are reached through "
                       "SSH; name HOST or HOST:SOCKET"));
    }
    const std::lock_guard<std::mutex> adding(adding_mutex_);
    retrier_.AwaitForgotten();
    std::set<std::string> taken;
    for (const Endpoint& worker : workers()) taken.insert(worker.name);
    const RemoteService service = WorkerService(address, taken);
    for (const Endpoint& worker : workers()) {
      if (worker.address.ssh() == service.host && worker.address.socket() == service.socket) {
        return absl::AlreadyExistsError(
            absl::StrCat(service.socket, " at ", service.host, " is one of this run's workers"));
      }
    }
    const Endpoint endpoint = NewEndpoint(service);
    Connecting(service);
    const absl::Status opened = Open(service, endpoint, cancelled);
    if (!opened.ok()) {
      return absl::Status(opened.code(), absl::StrCat(service.name, ": ", opened.message()));
    }
    open_.AddWorker(endpoint);
    return endpoint;
  }
  void RemoveWorker(const std::string& name) override {
    retrier_.Forget(name);
    open_.RemoveWorker(name);
  }
  bool is_local() const override { return false; }
  absl::Status status() const override {
    return open_.ForEach([](const Tunnel& tunnel) {
      const absl::Status status = tunnel.status();
      return absl::IsUnavailable(status) ? absl::OkStatus() : status;
    });
  }

 private:
  Endpoint NewEndpoint(const RemoteService& service) {
    Endpoint endpoint{
        service.name, absl::StrCat("unix:", dir_.path(), "/", sockets_++, ".sock"), {}};
    endpoint.address.set_ssh(service.host);
    endpoint.address.set_socket(service.socket);
    return endpoint;
  }

  void Connecting(const RemoteService& service) {
    open_.Report({service.name, ServiceEvent::State::kConnecting,
                  absl::StrCat("connecting to ", service.host), false});
  }

  absl::Status Open(const RemoteService& service, const Endpoint& endpoint,
                    const std::function<bool()>& cancelled) {
    TunnelOptions options =
        TunnelTo(service, config_, std::string(absl::StripPrefix(endpoint.target, "unix:")));
    options.cancelled = cancelled;
    options.on_event = [this, name = service.name](const TunnelEvent& event) {
      OnTunnel(name, event);
    };
    ASSIGN_OR_RETURN(std::unique_ptr<Tunnel> tunnel, OpenTunnel(config_, options));
    const absl::Status health = CheckServing(endpoint.target, kHealthDeadline, cancelled);
    if (!health.ok()) {
      return absl::UnavailableError(
          absl::StrCat("connected to ", service.socket, " at ", service.host,
                       ", but no healthy service answers there: ", health.message()));
    }
    open_.Report({service.name, ServiceEvent::State::kReady, "", false});
    open_.Keep(service.name, std::move(tunnel));
    // The worker may have been removed just now, before there was anything to remove.
    if (cancelled && cancelled()) open_.RemoveWorker(service.name);
    return absl::OkStatus();
  }

  void OnTunnel(const std::string& name, const TunnelEvent& event) {
    switch (event.state) {
      case TunnelEvent::State::kConnected:
        // The service may have been restarted meanwhile.
        open_.Report({name, ServiceEvent::State::kReady, "reconnected", true});
        break;
      case TunnelEvent::State::kLost:
        open_.Report({name, ServiceEvent::State::kLost, event.detail, false});
        break;
      case TunnelEvent::State::kFailed:
        open_.Report({name, ServiceEvent::State::kFailed, event.detail, false});
        break;
    }
  }

  const TempDir dir_;
  const v1::ClusterConfig config_;
  Endpoint trainer_;
  std::mutex adding_mutex_;  // AddWorker holds it: two may not take one name
  // `sockets_` counts those made so far; adding_mutex_ protects it once the cluster is open.
  int sockets_ = 0;
  OpenServices<Tunnel> open_;
  ConnectRetrier retrier_;  // it is last, as its attempts use all the others
};

}  // namespace

std::vector<RemoteService> RemoteServices(const v1::ClusterConfig& cluster) {
  std::vector<RemoteService> services;
  const v1::TrainerHost& trainer = cluster.trainer();
  services.push_back({absl::StrCat("trainer ", trainer.ssh()), trainer.ssh(),
                      trainer.socket().empty() ? kDefaultTrainerSocket : trainer.socket()});
  std::set<std::string> taken;
  for (const v1::WorkerHost& worker : cluster.workers()) {
    services.push_back(WorkerService(worker, taken));
    taken.insert(services.back().name);
  }
  return services;
}

TunnelOptions TunnelTo(const RemoteService& service, const v1::ClusterConfig& cluster,
                       const std::string& local_socket) {
  TunnelOptions options;
  options.host = service.host;
  options.remote_socket = service.socket;
  options.local_socket = local_socket;
  // The default file may be missing, and the system's is read with it; a file that was asked for
  // must exist and is read alone.
  const char* home = std::getenv("HOME");
  const std::string& config = cluster.ssh_config();
  if (config != "~/.ssh/config" &&
      (home == nullptr || config != absl::StrCat(home, "/.ssh/config"))) {
    options.ssh_config = config;
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Tunnel>> OpenTunnel(const v1::ClusterConfig& cluster,
                                                   const TunnelOptions& options) {
  return cluster.tunnel() == "ssh" ? OpenSshProgramTunnel(options) : OpenLibsshTunnel(options);
}

absl::StatusOr<std::unique_ptr<Cluster>> ConnectSshCluster(const ClusterOptions& options) {
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("whet"));
  auto cluster = std::make_unique<SshCluster>(std::move(dir), options);
  RETURN_IF_ERROR(cluster->Connect(options));
  return std::unique_ptr<Cluster>(std::move(cluster));
}

}  // namespace whetstone
