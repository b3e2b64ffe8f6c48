// `whet workers`, `pause` and `unpause` ask a live run through a RunControl
// (proto/whetstone/v1/coordinator.proto), on a unix socket in its run directory that only its owner
// may connect to (mode 0600).
//
//   RunControl control(paths, MakeGrpcWorkerClient);
//   RETURN_IF_ERROR(control.Listen());               // asked now: "still being opened"
//   …
//   control.Attach(&loop, cluster.get(), &relay);    // from here on it answers
//   hooks.on_worker_left = [&](int w) { control.Left(w); };
//   loop.Run(&state);
//   control.Close();                                 // before the loop goes
//
// A change is made on the loop's thread, between two batches of events: it is looked at beside the
// core's state, written to the worker_list or the pause_file, and then becomes an event of the
// core. Only connecting to a worker happens before that, on the request's own thread.
#ifndef WHETSTONE_COORDINATOR_LOOP_RUN_CONTROL_H_
#define WHETSTONE_COORDINATOR_LOOP_RUN_CONTROL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/server.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/loop/campaign_loop.h"
#include "coordinator/loop/control_address.h"
#include "coordinator/loop/service_relay.h"
#include "coordinator/rpc/worker_client.h"
#include "coordinator/services/cluster.h"
#include "whetstone/v1/coordinator.grpc.pb.h"

namespace whetstone {

class RunControl final : public v1::Coordinator::Service {
 public:
  // `connect` makes the client of a worker that is added, from its target.
  using Connect = std::function<std::unique_ptr<WorkerClient>(const std::string& target)>;
  RunControl(RunPaths paths, Connect connect)
      : paths_(std::move(paths)), connect_(std::move(connect)) {}
  ~RunControl() override { Close(); }

  // Begins to listen. Errors are those of RpcServer::Start: where the run directory's filesystem
  // has no sockets, say.
  absl::Status Listen();
  // Begins to answer. It is called once, before the loop runs; everything is borrowed until Close.
  void Attach(CampaignLoop* loop, Cluster* cluster, ServiceRelay* relay);
  // Closes the connection of a worker that has left; it is meant for LoopHooks::on_worker_left.
  void Left(int worker);
  // Ends the calls that are being answered (a worker that is being connected to may take 10 s) and
  // stops listening. Clients live on: the loop's calls may still hold them. A pause is over.
  void Close();

  grpc::Status ListWorkers(grpc::ServerContext* context, const v1::ListWorkersRequest* request,
                           v1::ListWorkersResponse* response) override;
  grpc::Status DrainWorker(grpc::ServerContext* context, const v1::LeaveRequest* request,
                           v1::WorkerStatus* response) override;
  grpc::Status RemoveWorker(grpc::ServerContext* context, const v1::LeaveRequest* request,
                            v1::WorkerStatus* response) override;
  grpc::Status AddWorker(grpc::ServerContext* context, const v1::AddWorkerRequest* request,
                         v1::WorkerStatus* response) override;
  grpc::Status Pause(grpc::ServerContext* context, const v1::PauseRequest* request,
                     v1::PauseStatus* response) override;

 private:
  // A Member is what the core does not know of a worker.
  struct Member {
    Endpoint endpoint;
    std::shared_ptr<WorkerClient> client;  // null unless the worker was added
    bool left = false;                     // true if drained or removed, or about to be
  };
  using Workers = std::vector<v1::WorkerStatus>;

  // Calls `look` on the loop's thread and returns what it does; or not at all, with an error.
  template <typename T>
  absl::StatusOr<T> OnLoop(
      const std::function<absl::StatusOr<T>(const CampaignState& state, Seconds now)>& look);
  absl::StatusOr<Workers> List();
  absl::StatusOr<v1::WorkerStatus> Leave(const v1::LeaveRequest& request, bool drain);
  absl::StatusOr<v1::WorkerStatus> Add(const v1::WorkerHost& address);
  absl::StatusOr<v1::PauseStatus> SetPaused(const v1::PauseRequest& request);

  // These run on the loop's thread.
  Workers ListNow(const CampaignState& state, Seconds now) const;
  absl::StatusOr<int> LeaveNow(const Workers& workers, const v1::LeaveRequest& request, bool drain);
  absl::StatusOr<int> JoinNow(const Endpoint& endpoint, std::shared_ptr<WorkerClient> client);
  absl::Status WriteMembers() const;
  // Returns whether it was otherwise before.
  absl::StatusOr<bool> PauseNow(bool paused);

  const RunPaths paths_;
  const Connect connect_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> attached_{false};
  // These three are constant once attached.
  CampaignLoop* loop_ = nullptr;
  Cluster* cluster_ = nullptr;
  ServiceRelay* relay_ = nullptr;
  // These two are used by the loop's thread alone, and by Close.
  std::vector<Member> members_;  // by index
  std::optional<absl::Time> paused_since_;
  std::optional<ControlAddress> address_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_RUN_CONTROL_H_
