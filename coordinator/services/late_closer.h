// Destroys things on threads of their own, some seconds after they were handed over.
//
//   LateCloser closer;
//   closer.Close(std::move(tunnel));
#ifndef WHETSTONE_COORDINATOR_SERVICES_LATE_CLOSER_H_
#define WHETSTONE_COORDINATOR_SERVICES_LATE_CLOSER_H_

#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace whetstone {

// Close is called by one thread at a time.
class LateCloser {
 public:
  // What a cancelled measurement takes to be told to its worker (campaign_loop.cc), and a little.
  static constexpr std::chrono::seconds kGrace{3};

  LateCloser() : ending_(end_.get_future()) {}
  // Destroys what is left at once, and waits for it.
  ~LateCloser() { end_.set_value(); }

  template <typename T>
  void Close(std::unique_ptr<T> thing) {
    if (thing == nullptr) return;
    closing_.push_back(
        std::async(std::launch::async, [ending = ending_, thing = std::move(thing)]() mutable {
          ending.wait_for(kGrace);
          thing.reset();
        }));
  }

 private:
  std::promise<void> end_;
  const std::shared_future<void> ending_;
  std::vector<std::future<void>> closing_;  // each waits for its thread when it goes
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_LATE_CLOSER_H_
