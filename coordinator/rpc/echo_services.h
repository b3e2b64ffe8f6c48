// These clients of a trainer and a worker, for tests, answer at once, each time the same.
#ifndef WHETSTONE_COORDINATOR_RPC_ECHO_SERVICES_H_
#define WHETSTONE_COORDINATOR_RPC_ECHO_SERVICES_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/rpc/trainer_client.h"
#include "coordinator/rpc/worker_client.h"

namespace whetstone {

// Its completions end with a token for the policy they are of; its loss is minus the sum of the
// rewards. Only how fast it was differs from call to call.
class EchoTrainer : public TrainerClient {
 public:
  absl::StatusOr<v1::TrainerInfo> GetInfo(const v1::TrainerInfoRequest& request,
                                          const CallOptions&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (request.release()) ++released_;
    if (request.holder().epoch() == epoch_ && epoch_ > 0) ++heard_;
    v1::TrainerInfo info = info_;
    info.set_world_size(ranks_);
    return info;
  }
  absl::StatusOr<v1::LoadCheckpointResponse> LoadCheckpoint(
      const v1::LoadCheckpointRequest& request, const CallOptions&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    info_.set_campaign_id(request.campaign_id());
    info_.set_held_by(request.campaign_id());
    info_.set_model(request.path());
    v1::LoadCheckpointResponse response;
    response.mutable_holder()->set_campaign_id(request.campaign_id());
    response.mutable_holder()->set_epoch(++epoch_);
    return response;
  }
  absl::Status Generate(const v1::GenerateRequest& request,
                        const std::function<void(const v1::GenerateEvent&)>& on_event,
                        const CallOptions& options) override {
    if (absl::Status refused = Check(request.holder()); !refused.ok()) return refused;
    if (hang_) {
      std::mutex mutex;
      std::condition_variable cancelled;
      bool stop = false;
      options.control->Bind([&] {
        const std::lock_guard<std::mutex> lock(mutex);
        stop = true;
        cancelled.notify_one();
      });
      hanging_ = true;
      std::unique_lock<std::mutex> lock(mutex);
      cancelled.wait(lock, [&] { return stop; });
      lock.unlock();
      options.control->Unbind();
      return absl::CancelledError("cancelled");
    }
    const int policy = Policy();
    for (const v1::PromptGroup& group : request.groups()) {
      v1::GenerateEvent prompt;
      prompt.mutable_prompt()->set_group_index(group.group_index());
      on_event(prompt);
      for (const int sample : group.samples()) {
        v1::GenerateEvent event;
        event.mutable_completion()->set_group_index(group.group_index());
        event.mutable_completion()->set_sample(sample);
        event.mutable_completion()->set_text(absl::StrCat("```cpp\nint f", sample, "();\n```"));
        for (const int id : {sample, policy}) {
          event.mutable_completion()->add_ids(id);
          event.mutable_completion()->add_sampling_logprobs(-0.5f);
        }
        on_event(event);
      }
    }
    return absl::OkStatus();
  }
  absl::StatusOr<v1::UpdateResponse> Update(const v1::UpdateRequest& request,
                                            const CallOptions&) override {
    if (absl::Status refused = Check(request.holder()); !refused.ok()) return refused;
    const std::lock_guard<std::mutex> lock(mutex_);
    *info_.mutable_last_update() = request.name();
    v1::UpdateResponse response;
    *response.mutable_name() = request.name();
    response.set_applied(true);
    double rewards = 0;
    for (const v1::RolloutGroup& group : request.grpo().groups()) {
      for (const v1::Rollout& rollout : group.rollouts()) rewards += rollout.reward();
    }
    (*response.mutable_metrics())["loss"] = -rewards;
    (*response.mutable_metrics())["perf/tokens_per_s"] = ++updates_;
    (*response.mutable_metrics())["perf/ranks"] = ranks_;
    return response;
  }
  absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint(
      const v1::SaveCheckpointRequest& request, const CallOptions&) override {
    if (absl::Status refused = Check(request.holder()); !refused.ok()) return refused;
    v1::SaveCheckpointResponse response;
    response.set_path(request.path());
    const std::lock_guard<std::mutex> lock(mutex_);
    response.set_checksum("after " + info_.last_update().ShortDebugString());
    return response;
  }

  absl::StatusOr<v1::RemoveCheckpointsResponse> RemoveCheckpoints(
      const v1::RemoveCheckpointsRequest& request, const CallOptions&) override {
    if (absl::Status refused = Check(request.holder()); !refused.ok()) return refused;
    return v1::RemoveCheckpointsResponse();
  }
  absl::StatusOr<v1::ReadCheckpointResponse> ReadCheckpoint(const v1::ReadCheckpointRequest&,
                                                            const CallOptions&) override {
    return absl::NotFoundError("an echo saves no files");
  }
  absl::StatusOr<v1::InspectModelResponse> InspectModel(const v1::InspectModelRequest&,
                                                        const CallOptions&) override {
    return absl::NotFoundError("an echo has no models");
  }

  bool hang_ = false;
  int ranks_ = 1;
  std::atomic<int> released_{0};
  std::atomic<int> heard_{0};  // its holder, which asked what it is
  std::atomic<bool> hanging_{false};

 private:
  absl::Status Check(const v1::Holder& holder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (holder.epoch() == epoch_ && holder.campaign_id() == info_.held_by()) {
      return absl::OkStatus();
    }
    return absl::AbortedError("another holds the trainer");
  }
  int Policy() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const v1::UpdateName& last = info_.last_update();
    return 1000 * last.phase() + static_cast<int>(last.step());
  }

  std::mutex mutex_;
  v1::TrainerInfo info_;  // these three protected by mutex_
  double updates_ = 0;
  uint64_t epoch_ = 0;
};

class EchoWorker : public WorkerClient {
 public:
  absl::StatusOr<v1::WorkerInfo> GetInfo(const CallOptions&) override {
    v1::WorkerInfo info;
    info.set_host_id("elsewhere");
    info.set_slots(4);
    info.set_cores(64);
    return info;
  }
  absl::StatusOr<v1::PutProblemResponse> PutProblem(const v1::PutProblemRequest&,
                                                    const CallOptions&) override {
    v1::PutProblemResponse response;
    response.mutable_calibration()->mutable_expert()->set_speedup(4);
    return response;
  }
  absl::StatusOr<v1::MeasureResponse> Measure(const v1::MeasureRequest& request,
                                              const CallOptions&) override {
    v1::MeasureResponse response;
    response.mutable_verdict()->set_candidate_id(request.candidate_id());
    response.mutable_verdict()->set_outcome(v1::CORRECT);
    response.mutable_verdict()->set_timed(request.time());
    response.mutable_verdict()->set_speedup(2);
    response.mutable_verdict()->set_speedup_low(1.9);
    return response;
  }
  absl::Status Cancel(const v1::CancelRequest&, const CallOptions&) override {
    return absl::OkStatus();
  }
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_RPC_ECHO_SERVICES_H_
