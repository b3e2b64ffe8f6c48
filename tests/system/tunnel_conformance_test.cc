// What every Tunnel must do, tried against a real sshd on loopback, for each implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/tunnel.h"
#include "tests/system/sshd_fixture.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;
using testing::HasSubstr;

using OpenFunction = absl::StatusOr<std::unique_ptr<Tunnel>> (*)(const TunnelOptions&);

struct Implementation {
  const char* name;
  OpenFunction open;
};

// A remote service: answers each connection on a thread of its own.
class Service {
 public:
  using Handler = std::function<void(int fd)>;
  Service(const std::string& path, Handler handler)
      : path_(path), handler_(std::move(handler)), listener_(*ListenUnix(path)) {
    thread_ = std::thread([this] { Accept(); });
  }
  ~Service() {
    stop_ = true;
    thread_.join();
    for (const int fd : fds_) shutdown(fd, SHUT_RDWR);
    for (std::thread& t : connections_) t.join();
    for (const int fd : fds_) close(fd);
    unlink(path_.c_str());
  }
  int connections() const { return count_; }

 private:
  void Accept() {
    while (!stop_) {
      pollfd p = {listener_.get(), POLLIN, 0};
      if (poll(&p, 1, 20) <= 0) continue;
      const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++count_;
      fds_.push_back(fd);
      connections_.emplace_back([this, fd] {
        handler_(fd);
        shutdown(fd, SHUT_RDWR);
      });
    }
  }

  const std::string path_;
  const Handler handler_;
  const UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::atomic<int> count_{0};
  std::vector<int> fds_;  // only the accepting thread's, until it has ended
  std::vector<std::thread> connections_;
  std::thread thread_;
};

bool SendAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool ReceiveAll(int fd, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = recv(fd, at, size, 0);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

void Echo(int fd) {
  std::vector<char> buffer(64 << 10);
  while (true) {
    const ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0 || !SendAll(fd, buffer.data(), static_cast<size_t>(n))) return;
  }
}

// A stream of bytes that any lost, doubled or swapped piece would change.
class Sequence {
 public:
  explicit Sequence(uint64_t seed) : state_(seed * 2 + 1) {}
  void Fill(std::vector<uint64_t>* words) {
    for (uint64_t& word : *words)
      word = (state_ = state_ * 6364136223846793005u + 1442695040888963407u);
  }

 private:
  uint64_t state_;
};

bool SendSequence(int fd, uint64_t seed, size_t blocks) {
  Sequence sequence(seed);
  std::vector<uint64_t> words(8192);
  for (size_t i = 0; i < blocks; ++i) {
    sequence.Fill(&words);
    if (!SendAll(fd, words.data(), words.size() * 8)) return false;
  }
  return shutdown(fd, SHUT_WR) == 0;
}

bool ReceiveSequence(int fd, uint64_t seed, size_t blocks) {
  Sequence sequence(seed);
  std::vector<uint64_t> expected(8192), got(8192);
  for (size_t i = 0; i < blocks; ++i) {
    sequence.Fill(&expected);
    if (!ReceiveAll(fd, got.data(), got.size() * 8) || got != expected) return false;
  }
  char extra;
  return recv(fd, &extra, 1, 0) == 0;
}

class TunnelConformanceTest : public testing::TestWithParam<Implementation> {
 protected:
  static void SetUpTestSuite() {
    auto sshd = PrivateSshd::Start();
    ASSERT_TRUE(sshd.ok()) << sshd.status();
    sshd_ = sshd->release();
  }
  static void TearDownTestSuite() {
    delete sshd_;
    sshd_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(sshd_, nullptr);
    auto dir = TempDir::Make("tun");
    ASSERT_TRUE(dir.ok());
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    options_.host = "gpu01";
    options_.ssh_config = sshd_->ssh_config();
    options_.remote_socket = dir_->path() + "/remote.sock";
    options_.local_socket = dir_->path() + "/local.sock";
    options_.on_event = [this](const TunnelEvent& event) {
      const std::lock_guard<std::mutex> lock(mutex_);
      events_.push_back(event);
    };
  }

  absl::StatusOr<std::unique_ptr<Tunnel>> Open() { return GetParam().open(options_); }
  // A connection through the tunnel, with a deadline on every read so that a stall fails the test.
  UniqueFd Connect() {
    auto fd = ConnectUnix(options_.local_socket);
    if (!fd.ok()) return UniqueFd();
    const timeval limit = {60, 0};
    setsockopt(fd->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return *std::move(fd);
  }
  bool SeenEvent(TunnelEvent::State state) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const TunnelEvent& event : events_) {
      if (event.state == state) return true;
    }
    return false;
  }
  static bool Eventually(const std::function<bool()>& condition, seconds limit = seconds(30)) {
    const auto end = SteadyClock::now() + limit;
    while (SteadyClock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }
  bool RoundTrip() {
    const UniqueFd fd = Connect();
    char answer = 0;
    return fd && SendAll(fd.get(), "x", 1) && ReceiveAll(fd.get(), &answer, 1) && answer == 'x';
  }

  static PrivateSshd* sshd_;
  std::unique_ptr<TempDir> dir_;
  TunnelOptions options_;
  std::mutex mutex_;
  std::vector<TunnelEvent> events_;
};

PrivateSshd* TunnelConformanceTest::sshd_ = nullptr;

TEST_P(TunnelConformanceTest, OneByteRoundTrips) {
  const Service service(options_.remote_socket, Echo);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  ASSERT_TRUE(fd);
  std::vector<double> micros;
  for (int i = 0; i < 500; ++i) {
    const auto start = SteadyClock::now();
    char answer = 0;
    ASSERT_TRUE(SendAll(fd.get(), "x", 1));
    ASSERT_TRUE(ReceiveAll(fd.get(), &answer, 1)) << "round trip " << i;
    ASSERT_EQ(answer, 'x');
    micros.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count());
  }
  std::sort(micros.begin(), micros.end());
  RecordProperty("round_trip_us_p50", static_cast<int>(micros[250]));
  RecordProperty("round_trip_us_p99", static_cast<int>(micros[495]));
  std::printf("round trip: p50 %.0f us, p99 %.0f us\n", micros[250], micros[495]);
  // Nagle's algorithm meeting delayed acknowledgements costs 40 ms a round trip.
  EXPECT_LT(micros[250], 20000);
}

TEST_P(TunnelConformanceTest, SixtyFourMegabytesBothWaysAtOnce) {
  constexpr size_t kBlocks = 1024;  // of 64 KiB
  std::atomic<bool> far_ok{false};
  const Service service(options_.remote_socket, [&](int fd) {
    std::thread sender([fd] { SendSequence(fd, 2, kBlocks); });
    if (ReceiveSequence(fd, 1, kBlocks)) far_ok = true;
    sender.join();
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  ASSERT_TRUE(fd);
  const auto start = SteadyClock::now();
  std::thread sender([&] { EXPECT_TRUE(SendSequence(fd.get(), 1, kBlocks)); });
  EXPECT_TRUE(ReceiveSequence(fd.get(), 2, kBlocks));
  sender.join();
  EXPECT_TRUE(Eventually([&] { return far_ok.load(); }));
  std::printf("2 x 64 MiB in %.2f s\n",
              std::chrono::duration<double>(SteadyClock::now() - start).count());
}

TEST_P(TunnelConformanceTest, HundredConnectionsAtOnce) {
  const Service service(options_.remote_socket, Echo);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  constexpr int kConnections = 100;
  std::vector<UniqueFd> fds;
  for (int i = 0; i < kConnections; ++i) {
    fds.push_back(Connect());
    ASSERT_TRUE(fds.back()) << i;
  }
  // Each its own answer, all in flight together, each longer than one SSH packet.
  std::vector<std::string> said(kConnections);
  for (int i = 0; i < kConnections; ++i) {
    said[i] = std::string(50000, static_cast<char>('!' + i % 90)) + absl::StrCat("#", i);
  }
  std::vector<std::thread> senders;
  for (int i = 0; i < kConnections; ++i) {
    senders.emplace_back([&, i] { SendAll(fds[i].get(), said[i].data(), said[i].size()); });
  }
  for (int i = 0; i < kConnections; ++i) {
    std::string heard(said[i].size(), '\0');
    EXPECT_TRUE(ReceiveAll(fds[i].get(), heard.data(), heard.size())) << i;
    EXPECT_EQ(heard, said[i]) << i;
  }
  for (std::thread& t : senders) t.join();
}

TEST_P(TunnelConformanceTest, SlowReaderStopsTheSenderAndNobodyElse) {
  std::atomic<size_t> flooded{0};
  const Service service(options_.remote_socket, [&](int fd) {
    char kind = 0;
    if (!ReceiveAll(fd, &kind, 1)) return;
    if (kind == 'e') {
      SendAll(fd, "e", 1);
      return;
    }
    const std::vector<char> block(64 << 10, 'f');
    while (SendAll(fd, block.data(), block.size())) flooded += block.size();
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd slow = Connect();
  ASSERT_TRUE(slow);
  ASSERT_TRUE(SendAll(slow.get(), "f", 1));
  // The sender comes to a stand while nobody reads.
  size_t before = 0;
  ASSERT_TRUE(Eventually([&] {
    std::this_thread::sleep_for(milliseconds(300));
    const size_t now = flooded;
    return now > 0 && std::exchange(before, now) == now;
  }));
  EXPECT_LT(flooded.load(), 16u << 20) << "somebody buffers without limit";
  // Others are not held up.
  const UniqueFd other = Connect();
  char answer = 0;
  ASSERT_TRUE(other && SendAll(other.get(), "e", 1));
  EXPECT_TRUE(ReceiveAll(other.get(), &answer, 1));
  // And it goes on when the slow one reads.
  std::vector<char> drain(32 << 20);
  EXPECT_TRUE(ReceiveAll(slow.get(), drain.data(), drain.size()));
  EXPECT_GE(flooded.load(), 32u << 20);
}

TEST_P(TunnelConformanceTest, SlowServiceStopsTheClient) {
  std::atomic<bool> read_on{false};
  const Service service(options_.remote_socket, [&](int fd) {
    while (!read_on) std::this_thread::sleep_for(milliseconds(5));
    ReceiveSequence(fd, 3, 512);
    SendAll(fd, "done", 4);
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  ASSERT_TRUE(fd);
  std::atomic<bool> sent{false};
  std::thread sender([&] {
    SendSequence(fd.get(), 3, 512);  // 32 MiB
    sent = true;
  });
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_FALSE(sent.load()) << "32 MiB vanished into some buffer";
  read_on = true;
  std::string answer(4, '\0');
  EXPECT_TRUE(ReceiveAll(fd.get(), answer.data(), 4));
  EXPECT_EQ(answer, "done");
  sender.join();
}

TEST_P(TunnelConformanceTest, HalfCloseTravelsBothWays) {
  const Service service(options_.remote_socket, [](int fd) {
    std::string all;
    char c;
    while (recv(fd, &c, 1, 0) == 1) all += c;  // until the client's end-of-file
    all = absl::StrCat(all.size(), ":", all);
    SendAll(fd, all.data(), all.size());
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  ASSERT_TRUE(fd && SendAll(fd.get(), "hello", 5));
  shutdown(fd.get(), SHUT_WR);
  std::string answer(7, '\0');
  EXPECT_TRUE(ReceiveAll(fd.get(), answer.data(), answer.size()));
  EXPECT_EQ(answer, "5:hello");
  char c;
  EXPECT_EQ(recv(fd.get(), &c, 1, 0), 0) << "the service's end-of-file did not arrive";
}

TEST_P(TunnelConformanceTest, MissingRemoteSocketIsAnErrorThatNamesIt) {
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnavailable) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr(options_.remote_socket));
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("start the service"));
}

TEST_P(TunnelConformanceTest, ServiceThatGoesAwayRefusesAndComesBack) {
  auto service = std::make_unique<Service>(options_.remote_socket, Echo);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  ASSERT_TRUE(RoundTrip());
  service.reset();
  const UniqueFd fd = Connect();
  char c;
  EXPECT_LE(recv(fd.get(), &c, 1, 0), 0) << "a stream to nowhere must end";
  service = std::make_unique<Service>(options_.remote_socket, Echo);
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
}

TEST_P(TunnelConformanceTest, ReconnectsAfterTheServerWasKilled) {
  const Service service(options_.remote_socket, Echo);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd open = Connect();
  ASSERT_TRUE(RoundTrip());
  ASSERT_TRUE(sshd_->Stop().ok());
  char c;
  EXPECT_LE(recv(open.get(), &c, 1, 0), 0) << "streams must end with the connection";
  EXPECT_TRUE(Eventually([&] { return SeenEvent(TunnelEvent::State::kLost); }));
  EXPECT_TRUE(Eventually([&] { return absl::IsUnavailable((*tunnel)->status()); }));
  ASSERT_TRUE(sshd_->Restart().ok());
  const auto back = SteadyClock::now();
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
  EXPECT_LT(SteadyClock::now() - back, seconds(10)) << "back-off is at most 2 s";
  EXPECT_TRUE(Eventually([&] { return SeenEvent(TunnelEvent::State::kConnected); }));
  EXPECT_TRUE((*tunnel)->status().ok());
}

TEST_P(TunnelConformanceTest, ChangedHostKeyIsRefused) {
  const Service service(options_.remote_socket, Echo);
  // Some other key, which is not the server's, under the server's name.
  const std::string other = *ReadFile(sshd_->dir() + "/user_key.pub");
  const std::string known = dir_->path() + "/known_hosts";
  ASSERT_TRUE(WriteFileAtomically(known, absl::StrCat("[127.0.0.1]:", sshd_->port(), " ",
                                                      other.substr(0, other.rfind(' ')), "\n"))
                  .ok());
  options_.ssh_config = sshd_->SshConfigWith("changed", "UserKnownHostsFile",
                                             absl::StrCat("  UserKnownHostsFile ", known));
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr(known));
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("ssh-keygen"));
  EXPECT_EQ(service.connections(), 0);
}

TEST_P(TunnelConformanceTest, UnknownHostKeyIsRefusedEvenIfTheConfigWouldAllowIt) {
  const Service service(options_.remote_socket, Echo);
  const std::string known = dir_->path() + "/known_hosts";
  ASSERT_TRUE(WriteFileAtomically(known, "").ok());
  sshd_->SshConfigWith("lax1", "StrictHostKeyChecking", "  StrictHostKeyChecking no");
  const std::string lax = *ReadFile(sshd_->dir() + "/lax1");
  const std::string config = dir_->path() + "/config";
  const std::string real = sshd_->dir() + "/known_hosts";
  std::string text = lax;
  text.replace(text.find(real), real.size(), known);
  ASSERT_TRUE(WriteFileAtomically(config, text).ok());
  options_.ssh_config = config;
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("host key"));
  EXPECT_EQ(*ReadFile(known), "") << "nothing may be added silently";
}

TEST_P(TunnelConformanceTest, RefusedKeyIsAnErrorThatSaysWhichAndWhatToDo) {
  const Service service(options_.remote_socket, Echo);
  options_.ssh_config = sshd_->SshConfigWith(
      "wrong_key", "IdentityFile", absl::StrCat("  IdentityFile ", sshd_->dir(), "/host_key"));
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnauthenticated) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("authorized_keys"));
}

TEST_P(TunnelConformanceTest, RefusedConnectionSaysSo) {
  // A port that was free a moment ago.
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  options_.host = "127.0.0.1:1";
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnavailable) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("port 1"));
}

TEST_P(TunnelConformanceTest, UnknownHostNameSaysSo) {
  options_.ssh_config = dir_->path() + "/config";
  ASSERT_TRUE(WriteFileAtomically(options_.ssh_config, "Host *\n  Port 22\n").ok());
  options_.host = "no-such-host.invalid";
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnavailable) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("no-such-host.invalid"));
}

// A host that accepts connections and then says nothing.
TEST_P(TunnelConformanceTest, SilentHostMeetsTheDeadline) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  options_.host = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  options_.connect_deadline = milliseconds(1000);
  const auto start = SteadyClock::now();
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kDeadlineExceeded) << tunnel.status();
  EXPECT_LT(SteadyClock::now() - start, seconds(8));
}

TEST_P(TunnelConformanceTest, MissingSshConfigIsAnErrorThatNamesIt) {
  options_.ssh_config = dir_->path() + "/nowhere";
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kInvalidArgument) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr(options_.ssh_config));
}

TEST_P(TunnelConformanceTest, LocalSocketInUseIsAnError) {
  const Service service(options_.remote_socket, Echo);
  const UniqueFd taken = *ListenUnix(options_.local_socket);
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kAlreadyExists) << tunnel.status();
}

TEST_P(TunnelConformanceTest, OpeningCanBeCancelled) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  options_.host = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  options_.connect_deadline = seconds(60);
  const auto start = SteadyClock::now();
  options_.cancelled = [start] { return SteadyClock::now() - start > milliseconds(200); };
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kCancelled) << tunnel.status();
  EXPECT_LT(SteadyClock::now() - start, seconds(10));
}

TEST_P(TunnelConformanceTest, ClosingEndsStreamsAndRemovesTheSocket) {
  const Service service(options_.remote_socket, Echo);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  ASSERT_TRUE(RoundTrip());
  tunnel->reset();
  char c;
  EXPECT_LE(recv(fd.get(), &c, 1, 0), 0);
  EXPECT_NE(access(options_.local_socket.c_str(), F_OK), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, TunnelConformanceTest,
                         testing::Values(Implementation{"Libssh", OpenLibsshTunnel},
                                         Implementation{"SshProgram", OpenSshProgramTunnel}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace whetstone
