#include "coordinator/services/connect_retrier.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/retry_policy.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCancelPoll{50};

absl::Status Joined(const std::vector<absl::Status>& errors) {
  std::vector<std::string> words;
  for (const absl::Status& error : errors) words.push_back(std::string(error.message()));
  return absl::Status(errors[0].code(), absl::StrJoin(words, "\n"));
}

}  // namespace

ConnectRetrier::~ConnectRetrier() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (auto& [name, attempts] : attempts_) attempts.thread.join();
}

void ConnectRetrier::Start(const std::string& name, bool necessary, Open open, Missing missing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Attempts& attempts = attempts_[name];
  attempts.necessary = necessary;
  attempts.thread = std::thread([this, &attempts, open = std::move(open),
                                 missing = std::move(missing)] { Loop(&attempts, open, missing); });
}

absl::Status ConnectRetrier::Wait(const Needs& needs) {
  const Clock::time_point end = Clock::now() + needs.deadline;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    bool all_tried = true, all_over = true;
    int open = 0;
    std::vector<absl::Status> errors, missing;
    for (const auto& [name, attempts] : attempts_) {
      all_over = all_over && attempts.over;
      if (!attempts.last.has_value()) {
        all_tried = false;
      } else if (!attempts.last->ok()) {
        (attempts.necessary ? errors : missing)
            .emplace_back(attempts.last->code(),
                          absl::StrCat(name, ": ", attempts.last->message()));
      } else if (!attempts.necessary) {
        ++open;
      }
    }
    if (all_tried && !errors.empty()) return Joined(errors);
    if (all_tried && (missing.empty() || open >= needs.at_least)) return absl::OkStatus();
    if (all_tried && (all_over || Clock::now() > end)) return Joined(missing);
    if (needs.cancelled && needs.cancelled()) return absl::CancelledError("stopped connecting");
    changed_.wait_for(lock, kCancelPoll);
  }
}

void ConnectRetrier::Forget(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = attempts_.find(name);
  if (it != attempts_.end()) it->second.forgotten = true;
  changed_.notify_all();
}

void ConnectRetrier::AwaitForgotten() {
  while (true) {
    std::map<std::string, Attempts>::node_type ending;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (auto it = attempts_.begin(); ending.empty() && it != attempts_.end();) {
        const auto here = it++;
        if (here->second.forgotten) ending = attempts_.extract(here);
      }
    }
    if (ending.empty()) return;
    ending.mapped().thread.join();
  }
}

bool ConnectRetrier::IsStopped(const Attempts& attempts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopping_ || attempts.forgotten;
}

void ConnectRetrier::Loop(Attempts* attempts, const Open& open, const Missing& missing) {
  for (bool first = true;; first = false) {
    absl::Status status = open([&] { return IsStopped(*attempts); });
    const bool permanent = IsPermanent(Operation::kConnect, status);
    if (!status.ok() && (first || permanent) && !IsStopped(*attempts)) missing(status, permanent);
    std::unique_lock<std::mutex> lock(mutex_);
    attempts->last = std::move(status);
    attempts->over = attempts->last->ok() || permanent;
    changed_.notify_all();
    if (attempts->over) return;
    if (changed_.wait_for(lock, kConnectPause, [&] { return stopping_ || attempts->forgotten; }))
      return;
  }
}

}  // namespace whetstone
