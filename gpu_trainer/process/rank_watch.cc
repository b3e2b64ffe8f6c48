#include "gpu_trainer/process/rank_watch.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace whetstone {

RankWatch::RankWatch(const RankGroup& ranks, std::function<std::string()> busy)
    : ranks_(ranks), busy_(std::move(busy)) {
  if (!ranks_.alone()) thread_ = std::thread([this] { Loop(); });
}

RankWatch::~RankWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void RankWatch::Loop() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return stopping_; })) {
    if (ranks_.broken().ok() || !busy_().empty()) continue;
    kill(getpid(), SIGTERM);
    return;
  }
}

}  // namespace whetstone
