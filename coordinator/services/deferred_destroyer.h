// Destroys objects on threads of their own, some seconds after they were handed over.
//
//   DeferredDestroyer destroyer;
//   destroyer.Destroy(std::move(tunnel));
#ifndef WHETSTONE_COORDINATOR_SERVICES_DEFERRED_DESTROYER_H_
#define WHETSTONE_COORDINATOR_SERVICES_DEFERRED_DESTROYER_H_

#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace whetstone {

// Destroy is called by one thread at a time.
class DeferredDestroyer {
 public:
  // It takes this long to tell a worker that its measurement is cancelled (campaign_loop.cc), and a
  // little more is left.
  static constexpr std::chrono::seconds kGrace{3};

  DeferredDestroyer() : ending_(end_.get_future()) {}
  // Destroys what is left at once, and waits for it.
  ~DeferredDestroyer() { end_.set_value(); }

  template <typename T>
  void Destroy(std::unique_ptr<T> object) {
    if (object == nullptr) return;
    destroying_.push_back(
        std::async(std::launch::async, [ending = ending_, object = std::move(object)]() mutable {
          ending.wait_for(kGrace);
          object.reset();
        }));
  }

 private:
  std::promise<void> end_;
  const std::shared_future<void> ending_;
  std::vector<std::future<void>> destroying_;  // each waits for its thread when it goes
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_DEFERRED_DESTROYER_H_
