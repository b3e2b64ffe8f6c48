#include "coordinator/services/ssh_cluster.h"

#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/services/health.h"

namespace whetstone {
namespace {

constexpr std::chrono::seconds kHealthDeadline{10};

class SshCluster final : public Cluster {
 public:
  SshCluster(TempDir dir, ServiceListener listener)
      : dir_(std::move(dir)), listener_(std::move(listener)) {}

  // Opens every tunnel at once; the first error, or all of them in one, when several hosts fail.
  absl::Status Connect(const ClusterOptions& options) {
    const v1::ClusterConfig& cluster = options.campaign.cluster();
    std::vector<std::future<absl::StatusOr<std::unique_ptr<Tunnel>>>> opening;
    for (const RemoteService& service : RemoteServices(cluster)) {
      const bool is_trainer = !has_trainer_;
      has_trainer_ = true;
      if (!(is_trainer ? options.with_trainer : options.with_workers)) continue;
      const std::string socket = absl::StrCat(dir_.path(), "/", opening.size(), ".sock");
      const Endpoint endpoint{service.name, absl::StrCat("unix:", socket)};
      if (is_trainer) {
        trainer_ = endpoint;
      } else {
        workers_.push_back(endpoint);
      }
      Report({service.name, ServiceEvent::State::kConnecting,
              absl::StrCat("connecting to ", service.host), false});
      TunnelOptions tunnel = TunnelTo(service, cluster, socket);
      tunnel.cancelled = options.cancelled;
      tunnel.on_event = [this, name = service.name](const TunnelEvent& event) {
        OnTunnel(name, event);
      };
      opening.push_back(std::async(std::launch::async, [this, &cluster, tunnel, endpoint] {
        return Open(cluster, tunnel, endpoint);
      }));
    }
    absl::Status first;
    std::vector<std::string> errors;
    for (auto& result : opening) {
      absl::StatusOr<std::unique_ptr<Tunnel>> tunnel = result.get();
      if (tunnel.ok()) {
        tunnels_.push_back(*std::move(tunnel));
        continue;
      }
      if (first.ok()) first = tunnel.status();
      errors.push_back(std::string(tunnel.status().message()));
    }
    if (errors.size() <= 1) return first;
    return absl::Status(first.code(), absl::StrJoin(errors, "\n"));
  }

  const Endpoint& trainer() const override { return trainer_; }
  const std::vector<Endpoint>& workers() const override { return workers_; }
  bool is_local() const override { return false; }
  absl::Status status() const override {
    for (const auto& tunnel : tunnels_) {
      const absl::Status status = tunnel->status();
      if (!status.ok() && !absl::IsUnavailable(status)) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<Tunnel>> Open(const v1::ClusterConfig& cluster,
                                               const TunnelOptions& options,
                                               const Endpoint& endpoint) {
    const auto named = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(endpoint.name, ": ", status.message()));
    };
    absl::StatusOr<std::unique_ptr<Tunnel>> tunnel = OpenTunnel(cluster, options);
    if (!tunnel.ok()) return named(tunnel.status());
    const absl::Status health = CheckServing(endpoint.target, kHealthDeadline);
    if (!health.ok()) {
      return named(absl::UnavailableError(
          absl::StrCat("connected to ", options.remote_socket, " at ", options.host,
                       ", but no healthy service answers there: ", health.message())));
    }
    Report({endpoint.name, ServiceEvent::State::kReady, "", false});
    return tunnel;
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
  std::mutex listener_mutex_;
  const ServiceListener listener_;
  bool has_trainer_ = false;
  Endpoint trainer_;
  std::vector<Endpoint> workers_;
  std::vector<std::unique_ptr<Tunnel>> tunnels_;
};

}  // namespace

std::vector<RemoteService> RemoteServices(const v1::ClusterConfig& cluster) {
  std::vector<RemoteService> services;
  const v1::TrainerHost& trainer = cluster.trainer();
  services.push_back({absl::StrCat("trainer ", trainer.ssh()), trainer.ssh(),
                      trainer.socket().empty() ? "/run/whetstone/trainer.sock" : trainer.socket()});
  std::map<std::string, int> uses;
  for (const v1::WorkerHost& worker : cluster.workers()) {
    std::string name = absl::StrCat("worker ", worker.ssh());
    // Several workers on one host: number them.
    if (const int n = ++uses[name]; n > 1) absl::StrAppend(&name, " #", n);
    services.push_back({name, worker.ssh(),
                        worker.socket().empty() ? "/run/whetstone/worker.sock" : worker.socket()});
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
  auto cluster = std::make_unique<SshCluster>(std::move(dir), options.on_event);
  RETURN_IF_ERROR(cluster->Connect(options));
  return std::unique_ptr<Cluster>(std::move(cluster));
}

}  // namespace whetstone
