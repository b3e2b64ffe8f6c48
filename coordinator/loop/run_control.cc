#include "coordinator/loop/run_control.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/grpc_status.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/journal/pause_file.h"
#include "coordinator/journal/worker_list.h"

namespace whetstone {
namespace {

// The loop looks at what it is asked between two writes to the journal.
constexpr std::chrono::seconds kAnswerDeadline{20};
constexpr std::chrono::seconds kInfoDeadline{5};

// Returns the name as people say it: "cpu03".
std::string ShortName(const std::string& name) {
  return std::string(absl::StripPrefix(name, "worker "));
}

bool IsGone(const v1::WorkerStatus& worker) { return worker.state() == v1::WorkerStatus::GONE; }

// Returns the index of the newest worker of that name: one that has left may have come again.
absl::StatusOr<int> Find(const std::vector<v1::WorkerStatus>& workers, const std::string& name) {
  std::vector<std::string> names;
  for (size_t w = workers.size(); w-- > 0;) {
    if (workers[w].name() == ShortName(name) || WorkerAddressText(workers[w].address()) == name) {
      return static_cast<int>(w);
    }
    if (!IsGone(workers[w])) names.push_back(workers[w].name());
  }
  std::sort(names.begin(), names.end());
  return absl::NotFoundError(
      absl::StrCat("this run has no worker '", name, "'", DidYouMean(name, names)));
}

template <typename T>
grpc::Status Answer(absl::StatusOr<T> from, T* to) {
  if (!from.ok()) return ToGrpcStatus(from.status());
  *to = *std::move(from);
  return grpc::Status::OK;
}

}  // namespace

absl::Status RunControl::Listen() {
  ASSIGN_OR_RETURN(ControlAddress address, ControlAddress::Open(paths_));
  address_.emplace(std::move(address));
  ASSIGN_OR_RETURN(server_, RpcServer::Start({address_->target(), "", ""}, this));
  return absl::OkStatus();
}

void RunControl::Attach(CampaignLoop* loop, Cluster* cluster, ServiceRelay* relay) {
  loop_ = loop;
  cluster_ = cluster;
  relay_ = relay;
  for (Endpoint& endpoint : cluster->workers()) {
    members_.push_back({std::move(endpoint), nullptr, false});
  }
  attached_ = true;
}

void RunControl::Left(int worker) {
  cluster_->RemoveWorker(members_[static_cast<size_t>(worker)].endpoint.name);
}

void RunControl::Close() {
  closing_ = true;
  server_.reset();
  address_.reset();
  if (paused_since_) RemovePauseFile(paths_.paused()).IgnoreError();
  paused_since_.reset();
}

grpc::Status RunControl::ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                                     v1::ListWorkersResponse* response) {
  const absl::StatusOr<Workers> workers = List();
  if (!workers.ok()) return ToGrpcStatus(workers.status());
  for (size_t w = 0; w < workers->size(); ++w) {
    const v1::WorkerStatus& worker = (*workers)[w];
    // A worker that has left and come again is listed once, as it is now.
    const bool again =
        std::any_of(workers->begin() + static_cast<std::ptrdiff_t>(w) + 1, workers->end(),
                    [&](const v1::WorkerStatus& later) { return later.name() == worker.name(); });
    if (!IsGone(worker) || !again) *response->add_workers() = worker;
  }
  return grpc::Status::OK;
}

grpc::Status RunControl::DrainWorker(grpc::ServerContext*, const v1::LeaveRequest* request,
                                     v1::WorkerStatus* response) {
  return Answer(Leave(*request, /*drain=*/true), response);
}

grpc::Status RunControl::RemoveWorker(grpc::ServerContext*, const v1::LeaveRequest* request,
                                      v1::WorkerStatus* response) {
  return Answer(Leave(*request, /*drain=*/false), response);
}

grpc::Status RunControl::AddWorker(grpc::ServerContext*, const v1::AddWorkerRequest* request,
                                   v1::WorkerStatus* response) {
  return Answer(Add(request->worker()), response);
}

grpc::Status RunControl::Pause(grpc::ServerContext*, const v1::PauseRequest* request,
                               v1::PauseStatus* response) {
  return Answer(SetPaused(*request), response);
}

template <typename T>
absl::StatusOr<T> RunControl::OnLoop(
    const std::function<absl::StatusOr<T>(const CampaignState& state, Seconds now)>& look) {
  const absl::Status ending = absl::UnavailableError("the run is ending");
  if (closing_) return ending;
  if (!attached_) {
    return absl::UnavailableError("the run's services are still being opened; try again soon");
  }
  // Whoever comes first, the loop or the deadline, takes the answer.
  struct Shared {
    std::atomic<bool> taken{false};
    std::promise<absl::StatusOr<T>> answer;
  };
  const auto shared = std::make_shared<Shared>();
  std::future<absl::StatusOr<T>> answer = shared->answer.get_future();
  loop_->Ask([shared, &look, &ending](const CampaignState* state, Seconds now) {
    if (shared->taken.exchange(true)) return;
    shared->answer.set_value(state == nullptr ? absl::StatusOr<T>(ending) : look(*state, now));
  });
  if (answer.wait_for(kAnswerDeadline) != std::future_status::ready &&
      !shared->taken.exchange(true)) {
    return absl::DeadlineExceededError(
        absl::StrCat("the campaign did not look at the request within ", kAnswerDeadline.count(),
                     " s; its log is ", paths_.logs(), "/whet.log"));
  }
  return answer.get();
}

absl::StatusOr<RunControl::Workers> RunControl::List() {
  return OnLoop<Workers>(
      [this](const CampaignState& state, Seconds now) -> absl::StatusOr<Workers> {
        return ListNow(state, now);
      });
}

absl::StatusOr<v1::WorkerStatus> RunControl::Leave(const v1::LeaveRequest& request, bool drain) {
  ASSIGN_OR_RETURN(const int worker, OnLoop<int>([&](const CampaignState& state, Seconds now) {
                     return LeaveNow(ListNow(state, now), request, drain);
                   }));
  // The core has it by now: questions are asked after the events before them.
  ASSIGN_OR_RETURN(Workers workers, List());
  return std::move(workers[static_cast<size_t>(worker)]);
}

absl::StatusOr<v1::WorkerStatus> RunControl::Add(const v1::WorkerHost& address) {
  // Somebody must be there to give the worker work.
  RETURN_IF_ERROR(List().status());
  ASSIGN_OR_RETURN(const Endpoint endpoint,
                   cluster_->AddWorker(address, [this] { return closing_.load(); }));
  const std::shared_ptr<WorkerClient> client = connect_(endpoint.target);
  absl::StatusOr<int> worker;
  const absl::StatusOr<v1::WorkerInfo> info = client->GetInfo({kInfoDeadline, nullptr});
  if (info.ok()) {
    worker = OnLoop<int>([&](const CampaignState&, Seconds) { return JoinNow(endpoint, client); });
  } else {
    worker =
        absl::Status(info.status().code(),
                     absl::StrCat(endpoint.name,
                                  ": what answers there is no worker: ", info.status().message()));
  }
  if (!worker.ok()) {
    cluster_->RemoveWorker(endpoint.name);
    return worker.status();
  }
  ASSIGN_OR_RETURN(Workers workers, List());
  return std::move(workers[static_cast<size_t>(*worker)]);
}

absl::StatusOr<v1::PauseStatus> RunControl::SetPaused(const v1::PauseRequest& request) {
  bool changed = false;
  if (request.has_paused()) {
    ASSIGN_OR_RETURN(changed, OnLoop<bool>([&](const CampaignState&, Seconds) {
                       return PauseNow(request.paused());
                     }));
  }
  // The core has it by now: questions are asked after the events before them.
  return OnLoop<v1::PauseStatus>(
      [&](const CampaignState& state, Seconds) -> absl::StatusOr<v1::PauseStatus> {
        v1::PauseStatus status;
        status.set_changed(changed);
        if (paused_since_) status.set_since_us(absl::ToUnixMicros(*paused_since_));
        for (const std::string& name : state.Running()) status.add_running(name);
        return status;
      });
}

RunControl::Workers RunControl::ListNow(const CampaignState& state, Seconds now) const {
  Workers workers = state.Workers(now);
  for (size_t w = 0; w < workers.size(); ++w) {
    workers[w].set_name(ShortName(members_[w].endpoint.name));
    *workers[w].mutable_address() = members_[w].endpoint.address;
  }
  return workers;
}

absl::StatusOr<int> RunControl::LeaveNow(const Workers& workers, const v1::LeaveRequest& request,
                                         bool drain) {
  ASSIGN_OR_RETURN(const int index, Find(workers, request.name()));
  const v1::WorkerStatus& worker = workers[static_cast<size_t>(index)];
  Member& member = members_[static_cast<size_t>(index)];
  if (member.left && IsGone(worker)) {
    return absl::FailedPreconditionError(
        absl::StrCat(worker.name(), " has left already: ", worker.why()));
  }
  const auto works = [](const v1::WorkerStatus& w) {
    return !IsGone(w) && w.state() != v1::WorkerStatus::DRAINING;
  };
  if (works(worker) && std::count_if(workers.begin(), workers.end(), works) == 1 &&
      !request.force()) {
    return absl::FailedPreconditionError(absl::StrCat(
        worker.name(),
        " is the last worker: without one the campaign stops after its patience.worker_s; add "
        "another one first, or insist with --force"));
  }
  if (!member.left) {
    member.left = true;
    const absl::Status written = WriteMembers();
    if (!written.ok()) {
      member.left = false;
      return written;
    }
  }
  if (IsGone(worker)) {
    Left(index);  // the core gave it up long ago
  } else if (drain) {
    loop_->Post(event::DrainWorker{index});
  } else {
    loop_->Post(event::RemoveWorker{index});
  }
  return index;
}

absl::StatusOr<int> RunControl::JoinNow(const Endpoint& endpoint,
                                        std::shared_ptr<WorkerClient> client) {
  const int index = static_cast<int>(members_.size());
  members_.push_back({endpoint, std::move(client), false});
  const absl::Status written = WriteMembers();
  if (!written.ok()) {
    members_.pop_back();
    return written;
  }
  loop_->AddWorker(members_.back().client.get());
  loop_->Post(event::WorkerJoined{index, endpoint.name});
  relay_->AddWorker(endpoint.name, index);
  return index;
}

absl::StatusOr<bool> RunControl::PauseNow(bool paused) {
  if (paused == paused_since_.has_value()) return false;
  if (paused) {
    const absl::Time since = absl::Now();
    RETURN_IF_ERROR(WritePauseFile(paths_.paused(), since));
    paused_since_ = since;
    loop_->Post(event::Pause{});
  } else {
    RETURN_IF_ERROR(RemovePauseFile(paths_.paused()));
    paused_since_.reset();
    loop_->Post(event::Unpause{});
  }
  return true;
}

absl::Status RunControl::WriteMembers() const {
  v1::WorkerList worker_list;
  for (const Member& member : members_) {
    if (!member.left) *worker_list.add_workers() = member.endpoint.address;
  }
  return WriteWorkerList(paths_, worker_list);
}

}  // namespace whetstone
