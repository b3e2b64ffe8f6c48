#include "gpu_trainer/rpc/distributed_trainer.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/rpc/rpc_boundary.h"

namespace whetstone {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Rank 0 empties the queues of completions so often, and the others look so often whether to go on
// and say how far they are.
constexpr milliseconds kCollectEvery{20};
constexpr milliseconds kLookEvery{200};

}  // namespace

// Works on rank 0 beside its own generation: takes what the others have generated into the stream,
// and tells them when nobody wants any more.
class DistributedTrainer::Collector {
 public:
  Collector(DistributedTrainer& trainer, GenerateStream& stream)
      : trainer_(trainer), stream_(stream) {
    if (!trainer_.ranks_.alone()) thread_ = std::thread([this] { Loop(); });
  }
  ~Collector() { Finish(); }

  // Ends the thread; the last completion has been pushed.
  void Finish() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }

 private:
  void Loop() {
    bool told = false;
    while (true) {
      bool last;
      {
        std::unique_lock lock(mutex_);
        last = changed_.wait_for(lock, kCollectEvery, [this] { return finishing_; });
      }
      RankGroup& ranks = trainer_.ranks_;
      if (!ranks.broken().ok()) stream_.Cancel();
      for (int r = 1; r < ranks.size(); ++r) TakeFrom(r);
      if (last) return;
      if (told || !stream_.cancelled()) continue;
      told = true;
      for (int r = 1; r < ranks.size(); ++r) {
        // The loss of a rank shows at the end of the call.
        ranks.Push(trainer_.CancelQueue(r), "").IgnoreError();
      }
    }
  }

  void TakeFrom(int rank) {
    while (true) {
      const auto message = trainer_.ranks_.Pop(trainer_.CompletionsQueue(rank));
      if (!message.ok() || !message->has_value()) return;
      v1::GenerateEvent event;
      CHECK(event.ParseFromString(**message));
      if (event.has_progress()) {
        stream_.SetProgress(rank, event.progress());
      } else {
        stream_.Push(std::move(event));
      }
    }
  }

  DistributedTrainer& trainer_;
  GenerateStream& stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finishing_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

const char* DistributedTrainer::NameOf(Command command) {
  switch (command) {
    case Command::kLoad:
      return "LoadCheckpoint";
    case Command::kUpdate:
      return "Update";
    case Command::kSave:
      return "SaveCheckpoint";
    case Command::kGenerate:
      return "Generate";
    case Command::kStop:
      return "Stop";
  }
  return "?";
}

std::string DistributedTrainer::CompletionsQueue(int rank) const {
  return absl::StrCat("completions/", generations_, "/", rank);
}

std::string DistributedTrainer::CancelQueue(int rank) const {
  return absl::StrCat("cancel/", generations_, "/", rank);
}

absl::Status DistributedTrainer::Lead(Command command, const google::protobuf::MessageLite& request,
                                      const std::function<absl::Status()>& work) {
  if (ranks_.alone()) return work();
  std::string message(1, static_cast<char>(command));
  request.AppendToString(&message);
  RETURN_IF_ERROR(ranks_.Broadcast(message).status());
  return InStep(command, work);
}

absl::Status DistributedTrainer::InStep(Command command,
                                        const std::function<absl::Status()>& work) {
  return ranks_.StatusBarrier(NameOf(command), [&] { return Guarded(NameOf(command), work); });
}

absl::Status DistributedTrainer::Load(const v1::LoadCheckpointRequest& request) {
  return Lead(Command::kLoad, request, [&] { return state_.Load(request); });
}

absl::Status DistributedTrainer::Update(const v1::UpdateRequest& request,
                                        v1::UpdateResponse* response) {
  return Lead(Command::kUpdate, request, [&] { return state_.Update(request, response); });
}

absl::Status DistributedTrainer::Save(const v1::SaveCheckpointRequest& request,
                                      SavedCheckpoint* saved) {
  return Lead(Command::kSave, request, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(*saved, state_.Save(request.path()));
    return absl::OkStatus();
  });
}

absl::Status DistributedTrainer::Generate(const v1::GenerateRequest& request,
                                          GenerateStream* stream) {
  ++generations_;
  Collector others(*this, *stream);
  const absl::Status status = Lead(Command::kGenerate, request, [&] {
    return state_.Generate(
        request, [&](v1::GenerateEvent prompt) { stream->Push(std::move(prompt)); },
        {.on_completion =
             [&](Completion c) { stream->Push(GenerateStream::EventOf(std::move(c))); },
         .on_progress =
             [&](const GenerateStatus& s) {
               ranks_.Working();
               stream->SetProgress(/*rank=*/0, GenerateStream::ProgressOf(s));
             },
         .cancelled = [&] { return stream->cancelled(); }});
  });
  others.Finish();
  return status;
}

absl::Status DistributedTrainer::GenerateForRank0(const v1::GenerateRequest& request) {
  ++generations_;
  absl::Status pushed;
  const auto push = [&](const v1::GenerateEvent& event) {
    if (!pushed.ok()) return;
    pushed = ranks_.Push(CompletionsQueue(ranks_.rank()), event.SerializeAsString());
  };
  bool cancelled = false;
  Steady::time_point looked = Steady::now(), told = looked;
  const auto due = [](Steady::time_point* last) {
    const Steady::time_point now = Steady::now();
    if (now - *last < kLookEvery) return false;
    *last = now;
    return true;
  };
  const absl::Status status = state_.Generate(
      request, /*on_prompt=*/nullptr,
      {.on_completion = [&](Completion c) { push(GenerateStream::EventOf(std::move(c))); },
       .on_progress =
           [&](const GenerateStatus& s) {
             ranks_.Working();
             if (!due(&told)) return;
             v1::GenerateEvent event;
             *event.mutable_progress() = GenerateStream::ProgressOf(s);
             push(event);
           },
       .cancelled =
           [&] {
             if (due(&looked)) {
               const auto message = ranks_.Pop(CancelQueue(ranks_.rank()));
               cancelled = cancelled || !message.ok() || message->has_value();
             }
             return cancelled || !pushed.ok();
           }});
  RETURN_IF_ERROR(pushed);
  return status;
}

void DistributedTrainer::Stop() {
  if (ranks_.alone()) return;
  ranks_.Broadcast(std::string(1, static_cast<char>(Command::kStop))).status().IgnoreError();
}

absl::Status DistributedTrainer::Follow() {
  while (true) {
    const absl::StatusOr<std::string> told = ranks_.Broadcast("");
    RETURN_IF_ERROR(told.status());
    const Command command = static_cast<Command>(told->at(0));
    const std::string bytes = told->substr(1);
    if (command == Command::kStop) return absl::OkStatus();
    const absl::Status status = InStep(command, [&]() -> absl::Status {
      if (command == Command::kLoad) {
        v1::LoadCheckpointRequest request;
        CHECK(request.ParseFromString(bytes));
        return state_.Load(request);
      }
      if (command == Command::kUpdate) {
        v1::UpdateRequest request;
        CHECK(request.ParseFromString(bytes));
        v1::UpdateResponse response;  // Rank 0 has the same and answers it.
        return state_.Update(request, &response);
      }
      if (command == Command::kSave) {
        v1::SaveCheckpointRequest request;
        CHECK(request.ParseFromString(bytes));
        return state_.Save(request.path()).status();  // Rank 0 writes.
      }
      v1::GenerateRequest request;
      CHECK(request.ParseFromString(bytes));
      return GenerateForRank0(request);
    });
    RETURN_IF_ERROR(ranks_.broken());
    if (!status.ok()) spdlog::warn("{}: {}", NameOf(command), std::string(status.message()));
  }
}

}  // namespace whetstone
