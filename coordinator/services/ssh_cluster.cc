#include "coordinator/services/ssh_cluster.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/services/health.h"
#include "coordinator/services/late_closer.h"

namespace whetstone {
namespace {

constexpr std::chrono::seconds kHealthDeadline{10};

// Several workers on one host: they are numbered.
RemoteService WorkerService(const v1::WorkerHost& worker, const std::set<std::string>& taken) {
  const std::string plain = absl::StrCat("worker ", worker.ssh());
  std::string name = plain;
  for (int n = 2; taken.count(name) > 0; ++n) name = absl::StrCat(plain, "#", n);
  return {name, worker.ssh(),
          worker.socket().empty() ? "/run/whetstone/worker.sock" : worker.socket()};
}

class SshCluster final : public Cluster {
 public:
  SshCluster(TempDir dir, const ClusterOptions& options)
      : dir_(std::move(dir)), config_(options.campaign.cluster()), listener_(options.on_event) {}

  // Opens every tunnel at once; the first error, or all of them in one, when several hosts fail.
  absl::Status Connect(const ClusterOptions& options) {
    v1::ClusterConfig cluster = config_;
    *cluster.mutable_workers() = options.roster->workers();
    std::vector<std::future<absl::Status>> opening;
    bool is_trainer = true;
    for (const RemoteService& service : RemoteServices(cluster)) {
      const bool wanted = !is_trainer || options.with_trainer;
      const Endpoint endpoint = NewEndpoint(service);
      if (!is_trainer) {
        workers_.push_back(endpoint);
      } else if (wanted) {
        trainer_ = endpoint;
      }
      is_trainer = false;
      if (!wanted) continue;
      opening.push_back(std::async(std::launch::async, [this, &options, service, endpoint] {
        return Open(service, endpoint, options.cancelled);
      }));
    }
    absl::Status first;
    std::vector<std::string> errors;
    for (auto& result : opening) {
      const absl::Status status = result.get();
      if (status.ok()) continue;
      if (first.ok()) first = status;
      errors.push_back(std::string(status.message()));
    }
    if (errors.size() <= 1) return first;
    return absl::Status(first.code(), absl::StrJoin(errors, "\n"));
  }

  const Endpoint& trainer() const override { return trainer_; }
  std::vector<Endpoint> workers() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return workers_;
  }
  absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost& place,
                                     const std::function<bool()>& cancelled) override {
    if (place.ssh().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", place.socket(),
                       "' is a socket of this machine, but this run's workers are reached through "
                       "SSH; name HOST or HOST:SOCKET"));
    }
    const std::lock_guard<std::mutex> adding(adding_mutex_);
    std::set<std::string> taken;
    for (const Endpoint& worker : workers()) taken.insert(worker.name);
    const RemoteService service = WorkerService(place, taken);
    for (const Endpoint& worker : workers()) {
      if (worker.place.ssh() == service.host && worker.place.socket() == service.socket) {
        return absl::AlreadyExistsError(
            absl::StrCat(service.socket, " at ", service.host, " is one of this run's workers"));
      }
    }
    const Endpoint endpoint = NewEndpoint(service);
    RETURN_IF_ERROR(Open(service, endpoint, cancelled));
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.push_back(endpoint);
    return endpoint;
  }
  void RemoveWorker(const std::string& name) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.erase(std::remove_if(workers_.begin(), workers_.end(),
                                  [&](const Endpoint& worker) { return worker.name == name; }),
                   workers_.end());
    const auto tunnel = tunnels_.find(name);
    if (tunnel == tunnels_.end()) return;
    closer_.Close(std::move(tunnel->second));
    tunnels_.erase(tunnel);
  }
  bool is_local() const override { return false; }
  absl::Status status() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, tunnel] : tunnels_) {
      const absl::Status status = tunnel->status();
      if (!status.ok() && !absl::IsUnavailable(status)) return status;
    }
    return absl::OkStatus();
  }

 private:
  Endpoint NewEndpoint(const RemoteService& service) {
    Endpoint endpoint{
        service.name, absl::StrCat("unix:", dir_.path(), "/", sockets_++, ".sock"), {}};
    endpoint.place.set_ssh(service.host);
    endpoint.place.set_socket(service.socket);
    return endpoint;
  }

  absl::Status Open(const RemoteService& service, const Endpoint& endpoint,
                    const std::function<bool()>& cancelled) {
    const auto named = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(service.name, ": ", status.message()));
    };
    Report({service.name, ServiceEvent::State::kConnecting,
            absl::StrCat("connecting to ", service.host), false});
    TunnelOptions options =
        TunnelTo(service, config_, std::string(absl::StripPrefix(endpoint.target, "unix:")));
    options.cancelled = cancelled;
    options.on_event = [this, name = service.name](const TunnelEvent& event) {
      OnTunnel(name, event);
    };
    absl::StatusOr<std::unique_ptr<Tunnel>> tunnel = OpenTunnel(config_, options);
    if (!tunnel.ok()) return named(tunnel.status());
    const absl::Status health = CheckServing(endpoint.target, kHealthDeadline);
    if (!health.ok()) {
      return named(absl::UnavailableError(
          absl::StrCat("connected to ", service.socket, " at ", service.host,
                       ", but no healthy service answers there: ", health.message())));
    }
    Report({service.name, ServiceEvent::State::kReady, "", false});
    const std::lock_guard<std::mutex> lock(mutex_);
    tunnels_[service.name] = *std::move(tunnel);
    return absl::OkStatus();
  }

  void OnTunnel(const std::string& name, const TunnelEvent& event) {
    switch (event.state) {
      case TunnelEvent::State::kConnected:
        // Who knows what happened on the host meanwhile.
        Report({name, ServiceEvent::State::kReady, "reconnected", true});
        break;
      case TunnelEvent::State::kLost:
        Report({name, ServiceEvent::State::kLost, event.detail, false});
        break;
      case TunnelEvent::State::kFailed:
        Report({name, ServiceEvent::State::kFailed, event.detail, false});
        break;
    }
  }

  void Report(const ServiceEvent& event) {
    const std::lock_guard<std::mutex> lock(listener_mutex_);
    if (listener_) listener_(event);
  }

  const TempDir dir_;
  const v1::ClusterConfig config_;
  std::mutex listener_mutex_;
  const ServiceListener listener_;
  Endpoint trainer_;
  std::mutex adding_mutex_;  // held by AddWorker: two may not take one name
  int sockets_ = 0;          // made so far; protected by adding_mutex_ once the cluster is open
  mutable std::mutex mutex_;
  std::vector<Endpoint> workers_;                           // these three protected by mutex_
  std::map<std::string, std::unique_ptr<Tunnel>> tunnels_;  // by Endpoint::name
  LateCloser closer_;
};

}  // namespace

std::vector<RemoteService> RemoteServices(const v1::ClusterConfig& cluster) {
  std::vector<RemoteService> services;
  const v1::TrainerHost& trainer = cluster.trainer();
  services.push_back({absl::StrCat("trainer ", trainer.ssh()), trainer.ssh(),
                      trainer.socket().empty() ? "/run/whetstone/trainer.sock" : trainer.socket()});
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
