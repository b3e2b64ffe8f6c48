// Opens connections side by side, each on a thread of its own, again and again until it is open.
//
//   ConnectRetrier retrier;
//   retrier.Start("worker cpu03", /*necessary=*/false,
//                 [&](const ConnectRetrier::Stopped& stopped) { return Open(cpu03, stopped); },
//                 [&](const absl::Status& why, bool permanent) { … });
//   RETURN_IF_ERROR(retrier.Wait({.at_least = 1, .cancelled = cancelled}));   // it may come later
#ifndef WHETSTONE_COORDINATOR_SERVICES_CONNECT_RETRIER_H_
#define WHETSTONE_COORDINATOR_SERVICES_CONNECT_RETRIER_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"

namespace whetstone {

// The class is thread-safe.
class ConnectRetrier {
 public:
  using Stopped = std::function<bool()>;
  // An Open is one attempt, which polls `stopped` wherever it waits.
  using Open = std::function<absl::Status(const Stopped& stopped)>;
  // This is called from the attempt's thread when the first attempt has failed, and when one has
  // failed for a reason that is permanent (common/retry_policy.h), so that no other follows.
  using Missing = std::function<void(const absl::Status& why, bool permanent)>;

  // Ends all attempts and waits for that.
  ~ConnectRetrier();

  // `name` is not in use. With `necessary`, Wait fails where its first attempt does.
  void Start(const std::string& name, bool necessary, Open open, Missing missing);

  struct Needs {
    int at_least = 0;  // so many of those that are not necessary must be open
    std::chrono::milliseconds deadline{120'000};
    Stopped cancelled;  // may be empty
  };
  // Returns when each was tried once, and all that is needed is open. An error holds, in one, those
  // of what is necessary, or those of all others when too few are open at the deadline or none is
  // tried again. CANCELLED: `cancelled` said so.
  absl::Status Wait(const Needs& needs);

  // Ends the attempts for `name`, which may be unknown.
  void Forget(const std::string& name);
  // Waits until the attempts for forgotten names have ended: those names may be used again.
  void AwaitForgotten();

 private:
  struct Attempts {
    bool necessary = false;
    bool forgotten = false;
    std::optional<absl::Status> last;  // the outcome of the last attempt that has ended
    bool over = false;                 // no other attempt follows
    std::thread thread;
  };

  bool IsStopped(const Attempts& attempts);
  void Loop(Attempts* attempts, const Open& open, const Missing& missing);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                     // protected by mutex_
  std::map<std::string, Attempts> attempts_;  // by name; protected by mutex_
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_CONNECT_RETRIER_H_
