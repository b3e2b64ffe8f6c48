// OpenServices is what a cluster has open: each service's connection (a child process, a tunnel) by
// name, which of the services are workers, and who listens.
//
//   OpenServices<Tunnel> open(options.on_event);
//   open.Keep(endpoint.name, std::move(tunnel));
//   open.AddWorker(endpoint);
//   open.Report({endpoint.name, ServiceEvent::State::kReady, "", false});
#ifndef WHETSTONE_COORDINATOR_SERVICES_OPEN_SERVICES_H_
#define WHETSTONE_COORDINATOR_SERVICES_OPEN_SERVICES_H_

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/services/cluster.h"
#include "coordinator/services/deferred_destroyer.h"

namespace whetstone {

// The class is thread-safe. Connections may report for as long as they live.
template <typename Connection>
class OpenServices {
 public:
  explicit OpenServices(ServiceListener listener) : listener_(std::move(listener)) {}

  void Report(const ServiceEvent& event) {
    const std::lock_guard<std::mutex> lock(listener_mutex_);
    if (listener_) listener_(event);
  }
  // Reports a service that could not be opened: it is tried again (connect_retrier.h), unless the
  // failure is permanent.
  void ReportMissing(const std::string& name, const absl::Status& why, bool permanent) {
    if (permanent) {
      Report({name, ServiceEvent::State::kFailed, std::string(why.message()), false});
    } else {
      Report({name, ServiceEvent::State::kLost,
              absl::StrCat("not reachable, tried again until it is: ", why.message()), false});
    }
  }

  std::vector<Endpoint> workers() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return workers_;
  }
  void AddWorker(const Endpoint& worker) {
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.push_back(worker);
  }
  // See Cluster::RemoveWorker.
  void RemoveWorker(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.erase(std::remove_if(workers_.begin(), workers_.end(),
                                  [&](const Endpoint& worker) { return worker.name == name; }),
                   workers_.end());
    const auto connection = connections_.find(name);
    if (connection == connections_.end()) return;
    destroyer_.Destroy(std::move(connection->second));
    connections_.erase(connection);
  }

  void Keep(const std::string& name, std::unique_ptr<Connection> connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    connections_[name] = std::move(connection);
  }
  // Returns the first error of `visit`, which gets each connection.
  template <typename Visit>
  absl::Status ForEach(const Visit& visit) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, connection] : connections_) RETURN_IF_ERROR(visit(*connection));
    return absl::OkStatus();
  }

 private:
  std::mutex listener_mutex_;
  const ServiceListener listener_;
  mutable std::mutex mutex_;
  std::vector<Endpoint> workers_;                                   // these protected by mutex_
  std::map<std::string, std::unique_ptr<Connection>> connections_;  // by Endpoint::name
  DeferredDestroyer destroyer_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_OPEN_SERVICES_H_
