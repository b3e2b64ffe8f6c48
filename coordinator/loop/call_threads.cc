#include "coordinator/loop/call_threads.h"

#include <utility>

namespace whetstone {

CallThreads::~CallThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  given_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CallThreads::Run(std::function<void()> call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.push_back(std::move(call));
  if (calls_.size() > idle_) {
    ++idle_;
    threads_.emplace_back([this] { Loop(); });
  } else {
    given_.notify_one();
  }
}

void CallThreads::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    given_.wait(lock, [this] { return ended_ || !calls_.empty(); });
    if (calls_.empty()) return;
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    --idle_;
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
    ++idle_;
  }
}

}  // namespace whetstone
