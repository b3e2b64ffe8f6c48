// Who waits for which candidate. What nobody has waited for during `grace` is cancelled: a
// coordinator that was killed leaves slots free, and one whose connection broke finds its
// measurement again when it calls anew.
//
//   WaitingCallers callers([&](const std::vector<std::string>& ids) { measurer->Cancel(ids); });
//   const WaitingCallers::Caller caller(&callers, id, [&] { return context->IsCancelled(); });
//   ... measure ...
#ifndef WHETSTONE_CPU_BENCH_WORKER_SERVICE_WAITING_CALLERS_H_
#define WHETSTONE_CPU_BENCH_WORKER_SERVICE_WAITING_CALLERS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace whetstone {

// Thread-safe. A thread of its own asks all callers several times within `grace`.
class WaitingCallers {
 public:
  // A tunnel that broke is there again within this.
  static constexpr std::chrono::milliseconds kGrace{5000};

  // `cancel` is called with candidates' ids, again after each further `grace` in which their
  // callers are still there and have all hung up.
  explicit WaitingCallers(std::function<void(const std::vector<std::string>&)> cancel,
                          std::chrono::milliseconds grace = kGrace);
  ~WaitingCallers();
  WaitingCallers(const WaitingCallers&) = delete;
  WaitingCallers& operator=(const WaitingCallers&) = delete;

  // One call that waits for a candidate, from construction to destruction.
  class Caller {
   public:
    // `hung_up` is asked from another thread.
    Caller(WaitingCallers* callers, std::string id, std::function<bool()> hung_up);
    ~Caller();
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

   private:
    friend class WaitingCallers;
    WaitingCallers* const callers_;
    const std::string id_;
    const std::function<bool()> hung_up_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct Candidate {
    std::set<const Caller*> callers;
    Clock::time_point last_wanted;  // When somebody still waited for it.
  };

  void Loop();
  // Returns whom nobody has waited for during grace_.
  std::vector<std::string> Abandoned();

  const std::function<void(const std::vector<std::string>&)> cancel_;
  const std::chrono::milliseconds grace_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::map<std::string, Candidate> candidates_;  // By id.
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SERVICE_WAITING_CALLERS_H_
