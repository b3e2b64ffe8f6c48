// What the tests of tunnels share: services at the far end, bytes that show any loss, and a fixture
// with a real sshd on loopback, for each implementation.
#ifndef WHETSTONE_TESTS_SYSTEM_TUNNEL_FIXTURE_H_
#define WHETSTONE_TESTS_SYSTEM_TUNNEL_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/file.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/tunnel.h"
#include "tests/system/sshd_fixture.h"

namespace whetstone {

// A remote service: answers each connection on a thread of its own.
class Service {
 public:
  using Handler = std::function<void(int fd)>;
  // Listens on a unix socket.
  Service(const std::string& path, Handler handler);
  // Listens on any free TCP port of loopback.
  explicit Service(Handler handler);
  ~Service();
  int connections() const { return count_; }
  int port() const { return port_; }

 private:
  void Accept();

  const std::string path_;
  const Handler handler_;
  int port_ = 0;
  UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::atomic<int> count_{0};
  std::vector<int> fds_;  // only the accepting thread's, until it has ended
  std::vector<std::thread> connections_;
  std::thread thread_;
};

// A listening TCP socket on any free port of `address` (an IPv4 address of this host), and that
// port.
UniqueFd ListenTcp(const char* address, int* port);

// False: the stream ended before all of it had passed.
bool SendAll(int fd, const void* data, size_t size);
bool ReceiveAll(int fd, void* data, size_t size);

// A handler that returns what it gets.
void Echo(int fd);

// `blocks` times 64 KiB that any lost, doubled or swapped piece would change, and the end after
// them. Counts in `sent`, unless it is null, the bytes that were taken.
bool SendSequence(int fd, uint64_t seed, size_t blocks, std::atomic<size_t>* sent = nullptr);
bool ReceiveSequence(int fd, uint64_t seed, size_t blocks);

// A tunnel to tell tests about: named, for their names.
struct Implementation {
  const char* name;
  absl::StatusOr<std::unique_ptr<Tunnel>> (*open)(const TunnelOptions&);
};
inline constexpr Implementation kImplementations[] = {{"Libssh", OpenLibsshTunnel},
                                                      {"SshProgram", OpenSshProgramTunnel}};

// One sshd a suite. `options_` leads to a socket of this test's own.
class TunnelTest : public testing::TestWithParam<Implementation> {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;  // of a test that failed, prints what its tunnel and the server said

  absl::StatusOr<std::unique_ptr<Tunnel>> Open() { return GetParam().open(options_); }
  // A connection through the tunnel, with a deadline on every read so that a stall fails the test.
  UniqueFd Connect() const;
  // One byte there and back over a connection of its own.
  bool RoundTrip() const;
  bool SeenEvent(TunnelEvent::State state);
  static PrivateSshd* sshd_;
  std::unique_ptr<TempDir> dir_;
  TunnelOptions options_;

 private:
  std::mutex mutex_;
  std::vector<TunnelEvent> events_;  // protected by mutex_
};

#define INSTANTIATE_TUNNEL_TESTS(suite)                                      \
  INSTANTIATE_TEST_SUITE_P(Each, suite, testing::ValuesIn(kImplementations), \
                           [](const auto& info) { return info.param.name; })

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_TUNNEL_FIXTURE_H_
