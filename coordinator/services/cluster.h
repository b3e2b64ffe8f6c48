// A Cluster has the services a campaign talks to, wherever they are: started on this machine, or
// reached through SSH. The rest of the coordinator sees gRPC targets and events, never a process or
// a tunnel.
//
//   ClusterOptions options;
//   options.campaign = campaign;                    // parsed, worker host ranges expanded
//   options.log_dir = run_dir + "/logs";
//   options.on_event = [&](const ServiceEvent& e) { queue.Push(e); };
//   ASSIGN_OR_RETURN(std::unique_ptr<Cluster> cluster, OpenCluster(std::move(options)));
//   auto channel = grpc::CreateCustomChannel(cluster->trainer().target,
//                                            grpc::InsecureChannelCredentials(), ChannelArgs());
//
// A target stays valid for the cluster's life: a service that is restarted and a tunnel that
// reconnects keep their socket path, so a gRPC channel made once heals by itself. What is lost is
// the service's memory (the trainer's policy, the worker's problems): on kReady with `restarted`,
// load the checkpoint and put the problems again.
#ifndef WHETSTONE_COORDINATOR_SERVICES_CLUSTER_H_
#define WHETSTONE_COORDINATOR_SERVICES_CLUSTER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/coordinator.pb.h"

namespace whetstone {

struct Endpoint {
  // The name is unique: "trainer" or "worker" for a service started here, "worker /run/w.sock" for
  // one that was there, "trainer gpu01" or "worker cpu03" for one reached through SSH.
  std::string name;
  // The target is one of gRPC's: "unix:/tmp/whet.Xy12ab/trainer.sock".
  std::string target;
  // The address is a worker's, as in WorkerList (coordinator.proto); empty for a trainer.
  v1::WorkerHost address;
};

// A ServiceEvent says what happened to one service's connection.
struct ServiceEvent {
  enum class State {
    kConnecting,  // being started or connected; `detail` says what is waited for
    kReady,       // healthy: calls can be made
    kLost,        // it died or the connection broke; restart or reconnect is under way
    kFailed,      // given up for good; `detail` says why and what to do
  };
  std::string service;  // Endpoint::name
  State state = State::kConnecting;
  // The detail is one line for people.
  std::string detail;
  // With kReady, the process may be another than the one that was there before.
  bool restarted = false;
};

// A listener is called from the cluster's own threads, one call at a time. It must return quickly
// and must not call back into the cluster.
using ServiceListener = std::function<void(const ServiceEvent&)>;

// A Cluster is thread-safe. Destruction stops what it started: local services (SIGTERM, SIGKILL 5 s
// later) or tunnels.
class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual const Endpoint& trainer() const = 0;
  // Returns the workers in the order in which they came.
  virtual std::vector<Endpoint> workers() const = 0;
  // Connects to one more worker: on a host through SSH, or, where the services are this machine's,
  // on a socket here. Returns when it is healthy. `cancelled` (may be empty) is polled. Errors are
  // those of OpenCluster; ALREADY_EXISTS: it is one of workers(). INVALID_ARGUMENT: not an address
  // of this kind of cluster.
  virtual absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost& address,
                                             const std::function<bool()>& cancelled) = 0;
  // The worker is none of workers() any more. Its connection is closed, or its service stopped,
  // some seconds later, so that what it measures can still be cancelled. Unknown names are ignored.
  virtual void RemoveWorker(const std::string& name) = 0;
  // Returns whether the services are children of this process and share its filesystem.
  virtual bool is_local() const = 0;
  // Returns OK, or why one of the services (named) can't be had any more.
  virtual absl::Status status() const = 0;
};

struct ClusterOptions {
  v1::Campaign campaign;
  // Local services write trainer.log and worker.log in this folder. It is made if missing.
  std::string log_dir;
  // The listener may be empty.
  ServiceListener on_event;
  // This is polled while opening: true gives up with CANCELLED. It may be empty.
  std::function<bool()> cancelled;
  // All services together may take this long to become healthy.
  std::chrono::seconds deadline{120};
  // False opens only a worker (`whet measure`, `whet problem check`); trainer().target is empty.
  bool with_trainer = true;
  // These workers stand in place of those that the campaign names; an empty list: none (`whet
  // replay`).
  std::optional<v1::WorkerList> worker_list;
  // Workers that can't be reached at first are kLost and tried again, as long as one of all is
  // there until the deadline. False: each must be there.
  bool workers_may_be_missing = false;
  // This folder holds the local services' binaries; empty means the one this program lies in.
  std::string bin_dir;
};

// Returns the workers that the campaign says.
v1::WorkerList WorkerListOf(const v1::Campaign& campaign);

// Opens local services if the campaign names no cluster, SSH tunnels otherwise. Returns when every
// service is healthy. Errors name the service: UNAVAILABLE (dead host, service not running, died at
// once), UNAUTHENTICATED (key refused), PERMISSION_DENIED (host key unknown or changed), NOT_FOUND
// (binary missing), DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<std::unique_ptr<Cluster>> OpenCluster(ClusterOptions options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_CLUSTER_H_
