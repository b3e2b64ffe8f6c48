// The retry policy says which failures are worth another attempt, and how long to wait before it.
// It is the one place that decides, for connections (services/, tunnel/) and for a campaign's
// calls. It is pure: no clock, no thread, no I/O.
//
//   Backoff backoff;
//   while (!stopped) {
//     const absl::Status status = Connect();
//     if (status.ok()) break;
//     if (IsPermanent(Operation::kConnect, status)) return status;
//     Sleep(backoff.Next());
//   }
#ifndef WHETSTONE_COMMON_RETRY_POLICY_H_
#define WHETSTONE_COMMON_RETRY_POLICY_H_

#include <chrono>

#include "absl/status/status.h"

namespace whetstone {

// The operation is what has failed. Two codes mean one thing on the way to a service and another in
// its answer.
enum class Operation {
  kConnect,  // reaching a service: a tunnel, a socket, a health check
  kCall,     // a call to a service that was reached: the code is the service's own
};

// Returns whether a further attempt would end in the same way; the status says what to do about it.
//
//   INVALID_ARGUMENT     The input itself is wrong (an ssh_config that is not understood, a request
//                        that the service refuses), and the next attempt sends the same.
//   PERMISSION_DENIED    The host key is unknown or has changed, or an administrator forbids it.
//                        Neither heals by itself, and a host that may be an impostor must not be
//                        spoken to again and again.
//   UNAUTHENTICATED      Every key, or the token, was refused. Further attempts look like an attack
//                        to the host, which may lock the account.
//   UNIMPLEMENTED        The other side is of a version that does not know the call.
//   NOT_FOUND            kConnect only: a program that makes the connection is not installed. In a
//                        service's answer it is about a file that may have been removed just now
//                        and is made again by the next attempt.
//   ABORTED              kCall only: another campaign has taken the trainer (trainer.proto), and
//                        nobody takes it back unasked.
//   RESOURCE_EXHAUSTED   kCall only: the service has no memory or no disk for a request that
//                        is as large the next time. While connecting it is about this machine's
//                        descriptors or processes, of which others come free.
//
// Every other code may pass: hosts restart, links drop, services come back.
bool IsPermanent(Operation operation, const absl::Status& status);

// Two attempts to open a connection that was never there have this pause between them.
inline constexpr std::chrono::milliseconds kConnectPause{1000};

// A process that has worked for so long may again die as often as at first before it is given up.
inline constexpr std::chrono::minutes kSettled{10};

// A Backoff gives the pauses between attempts to restore a connection that was lost: kMin at first,
// as it may be back at once, then twice as long each time, up to kMax.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kMin{100};
  static constexpr std::chrono::milliseconds kMax{2000};

  // Returns the pause before the next attempt.
  std::chrono::milliseconds Next();
  // The connection is there again: the next loss begins with kMin.
  void Reset() { next_ = kMin; }

 private:
  std::chrono::milliseconds next_ = kMin;
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_RETRY_POLICY_H_
