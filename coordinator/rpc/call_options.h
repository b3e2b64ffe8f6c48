// One RPC may end early in two ways: by a deadline, and by a switch another thread can throw.
//
//   auto control = std::make_shared<CallControl>();
//   std::thread call([=] { client->Update(request, {std::chrono::minutes(20), control.get()}); });
//   control->Cancel();   // the call returns CANCELLED
#ifndef WHETSTONE_COORDINATOR_RPC_CALL_OPTIONS_H_
#define WHETSTONE_COORDINATOR_RPC_CALL_OPTIONS_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

namespace whetstone {

// Cancels at most one call at a time. It is thread-safe, and must outlive the call it is given to.
class CallControl {
 public:
  // Cancels the bound call, and at once every call bound later.
  void Cancel() {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (cancel_) cancel_();
  }
  bool cancelled() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return cancelled_;
  }
  // Clients call this: `cancel` runs at most once while bound; Unbind before what it captures goes.
  void Bind(std::function<void()> cancel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancel_ = std::move(cancel);
    if (cancelled_ && cancel_) cancel_();
  }
  void Unbind() { Bind(nullptr); }

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::function<void()> cancel_;
};

struct CallOptions {
  // The deadline is of the whole call, streaming included.
  std::chrono::milliseconds deadline{60'000};
  // The switch is borrowed, and may be null.
  CallControl* control = nullptr;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_RPC_CALL_OPTIONS_H_
