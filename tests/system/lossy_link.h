// A slow network link that loses packets, inside a network of this process's own: a TUN device
// whose packets the kernel's TCP sends and this class delivers later, or not at all. What is lost
// is found and sent again by TCP itself.
//
//   const absl::Status own = EnterOwnNetwork();              // before there are threads
//   auto link = LossyLink::Open(milliseconds(150), 100);     // 300 ms there and back, 1 % lost
//   … listen on LossyLink::kNear, connect to LossyLink::kFar at the same port …
//
// Addresses: this host is kNear. What it sends to kFar comes back to it with the two addresses
// exchanged, as if from kFar; checksums stay true, since both count the same.
#ifndef WHETSTONE_TESTS_SYSTEM_LOSSY_LINK_H_
#define WHETSTONE_TESTS_SYSTEM_LOSSY_LINK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/tunnel/sockets.h"

namespace whetstone {

// Moves this thread, and with it all threads and processes it starts from now on, into a new
// network namespace with nothing but loopback. Needs root, or user namespaces and no other thread.
absl::Status EnterOwnNetwork();

class LossyLink {
 public:
  static constexpr char kNear[] = "10.99.0.1";
  static constexpr char kFar[] = "10.99.0.2";

  // Opens a link in this thread's network that loses every `lose_every`-th packet. An error says
  // what the machine lacks: /dev/net/tun, or the permission to use it.
  static absl::StatusOr<std::unique_ptr<LossyLink>> Open(std::chrono::milliseconds one_way,
                                                         int lose_every);
  ~LossyLink();
  int64_t packets() const { return packets_; }
  int64_t lost() const { return lost_; }

 private:
  LossyLink(UniqueFd device, std::chrono::milliseconds one_way, int lose_every);
  void Run();

  const UniqueFd device_;
  const std::chrono::milliseconds one_way_;
  const int lose_every_;
  std::atomic<int64_t> packets_{0};
  std::atomic<int64_t> lost_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_LOSSY_LINK_H_
