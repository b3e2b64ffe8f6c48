#include "gpu_trainer/rpc/ranked_policy.h"

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

// How often rank 0 empties the boxes of completions, and the others look whether to go on and say
// how far they are.
constexpr milliseconds kCollectEvery{20};
constexpr milliseconds kLookEvery{200};

}  // namespace

// Rank 0, beside its own generation: takes what the others have generated into the stream, and
// tells them when nobody wants any more.
class RankedPolicy::Collector {
 public:
  Collector(RankedPolicy& policy, GenerateStream& stream) : policy_(policy), stream_(stream) {
    if (!policy_.ranks_.alone()) thread_ = std::thread([this] { Loop(); });
  }
  ~Collector() { Finish(); }

  // After the last completion was posted.
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
      RankGroup& ranks = policy_.ranks_;
      if (!ranks.broken().ok()) stream_.Cancel();
      for (int r = 1; r < ranks.size(); ++r) TakeFrom(r);
      if (last) return;
      if (told || !stream_.cancelled()) continue;
      told = true;
      for (int r = 1; r < ranks.size(); ++r) {
        ranks.Post(policy_.CancelOf(r), "").IgnoreError();  // its loss shows at the end of the call
      }
    }
  }

  void TakeFrom(int rank) {
    while (true) {
      const auto letter = policy_.ranks_.Take(policy_.CompletionsOf(rank));
      if (!letter.ok() || !letter->has_value()) return;
      v1::GenerateEvent event;
      CHECK(event.ParseFromString(**letter));
      if (event.has_progress()) {
        stream_.SetProgress(rank, event.progress());
      } else {
        stream_.Push(std::move(event));
      }
    }
  }

  RankedPolicy& policy_;
  GenerateStream& stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finishing_ = false;  // guarded by mutex_
  std::thread thread_;
};

const char* RankedPolicy::NameOf(Command command) {
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

std::string RankedPolicy::CompletionsOf(int rank) const {
  return absl::StrCat("completions/", generations_, "/", rank);
}

std::string RankedPolicy::CancelOf(int rank) const {
  return absl::StrCat("cancel/", generations_, "/", rank);
}

absl::Status RankedPolicy::Lead(Command command, const google::protobuf::MessageLite& request,
                                const std::function<absl::Status()>& work) {
  if (ranks_.alone()) return work();
  std::string message(1, static_cast<char>(command));
  request.AppendToString(&message);
  RETURN_IF_ERROR(ranks_.FromFirst(message).status());
  return InStep(command, work);
}

absl::Status RankedPolicy::InStep(Command command, const std::function<absl::Status()>& work) {
  return ranks_.Together(NameOf(command), [&] { return Guarded(NameOf(command), work); });
}

absl::Status RankedPolicy::Load(const v1::LoadCheckpointRequest& request) {
  return Lead(Command::kLoad, request, [&] { return held_.Load(request); });
}

absl::Status RankedPolicy::Update(const v1::UpdateRequest& request, v1::UpdateResponse* response) {
  return Lead(Command::kUpdate, request, [&] { return held_.Update(request, response); });
}

absl::Status RankedPolicy::Save(const v1::SaveCheckpointRequest& request, SavedCheckpoint* saved) {
  return Lead(Command::kSave, request, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(*saved, held_.Save(request.path()));
    return absl::OkStatus();
  });
}

absl::Status RankedPolicy::Generate(const v1::GenerateRequest& request, GenerateStream* stream) {
  ++generations_;
  Collector others(*this, *stream);
  const absl::Status status = Lead(Command::kGenerate, request, [&] {
    return held_.Generate(
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

absl::Status RankedPolicy::GenerateForFirst(const v1::GenerateRequest& request) {
  ++generations_;
  absl::Status posted;
  const auto post = [&](const v1::GenerateEvent& event) {
    if (posted.ok()) posted = ranks_.Post(CompletionsOf(ranks_.rank()), event.SerializeAsString());
  };
  bool cancelled = false;
  Steady::time_point looked = Steady::now(), told = looked;
  const auto due = [](Steady::time_point* last) {
    const Steady::time_point now = Steady::now();
    if (now - *last < kLookEvery) return false;
    *last = now;
    return true;
  };
  const absl::Status status = held_.Generate(
      request, /*on_prompt=*/nullptr,
      {.on_completion = [&](Completion c) { post(GenerateStream::EventOf(std::move(c))); },
       .on_progress =
           [&](const GenerateStatus& s) {
             ranks_.Working();
             if (!due(&told)) return;
             v1::GenerateEvent event;
             *event.mutable_progress() = GenerateStream::ProgressOf(s);
             post(event);
           },
       .cancelled =
           [&] {
             if (due(&looked)) {
               const auto letter = ranks_.Take(CancelOf(ranks_.rank()));
               cancelled = cancelled || !letter.ok() || letter->has_value();
             }
             return cancelled || !posted.ok();
           }});
  RETURN_IF_ERROR(posted);
  return status;
}

void RankedPolicy::Stop() {
  if (ranks_.alone()) return;
  ranks_.FromFirst(std::string(1, static_cast<char>(Command::kStop))).status().IgnoreError();
}

absl::Status RankedPolicy::Follow() {
  while (true) {
    const absl::StatusOr<std::string> told = ranks_.FromFirst("");
    RETURN_IF_ERROR(told.status());
    const Command command = static_cast<Command>(told->at(0));
    const std::string bytes = told->substr(1);
    if (command == Command::kStop) return absl::OkStatus();
    const absl::Status status = InStep(command, [&]() -> absl::Status {
      if (command == Command::kLoad) {
        v1::LoadCheckpointRequest request;
        CHECK(request.ParseFromString(bytes));
        return held_.Load(request);
      }
      if (command == Command::kUpdate) {
        v1::UpdateRequest request;
        CHECK(request.ParseFromString(bytes));
        v1::UpdateResponse response;  // rank 0 has the same and answers it
        return held_.Update(request, &response);
      }
      if (command == Command::kSave) {
        v1::SaveCheckpointRequest request;
        CHECK(request.ParseFromString(bytes));
        return held_.Save(request.path()).status();  // rank 0 writes
      }
      v1::GenerateRequest request;
      CHECK(request.ParseFromString(bytes));
      return GenerateForFirst(request);
    });
    RETURN_IF_ERROR(ranks_.broken());
    if (!status.ok()) spdlog::warn("{}: {}", NameOf(command), std::string(status.message()));
  }
}

}  // namespace whetstone
