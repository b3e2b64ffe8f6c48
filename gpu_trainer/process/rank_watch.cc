#include "gpu_trainer/process/rank_watch.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace whetstone {

std::chrono::milliseconds Stillness::Look(const std::string& busy, int64_t work) {
  const bool same = !busy.empty() && busy == busy_ && work == work_;
  looks_ = same ? looks_ + 1 : 0;
  busy_ = busy;
  work_ = work;
  return looks_ * kLookEvery;
}

RankWatch::RankWatch(const RankGroup& ranks, std::function<std::string()> busy,
                     std::chrono::milliseconds work_deadline,
                     std::function<void(const absl::Status&)> hangs)
    : ranks_(ranks),
      busy_(std::move(busy)),
      work_deadline_(work_deadline),
      hangs_(std::move(hangs)),
      thread_([this] { Loop(); }) {}

RankWatch::~RankWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void RankWatch::Loop() {
  Stillness stillness;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, Stillness::kLookEvery, [this] { return stopping_; })) {
    const std::string busy = busy_();
    if (!ranks_.alone()) {
      if (ranks_.broken().ok() || !busy.empty()) continue;
      kill(getpid(), SIGTERM);
      return;
    }
    // Other work reads or writes files, and does not tell how far it is.
    if (busy != "Update" && busy != "Generate") continue;
    if (stillness.Look(busy, ranks_.work_done()) < work_deadline_) continue;
    return hangs_(absl::UnavailableError(
        absl::StrCat(busy, " has got no further for ", work_deadline_.count() / 1000,
                     " s (--rank-timeout); this process ends, to be started anew")));
  }
}

}  // namespace whetstone
