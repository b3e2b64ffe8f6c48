// These tests try what a Tunnel does whose way leads through a jump host (ProxyJump), in each way
// that one can fail: two real sshds on loopback, for each implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/tcp_relay.h"
#include "tests/system/tunnel_fixture.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;
using testing::HasSubstr;

constexpr seconds kWhenFrozen{5};

class JumpHostTest : public TunnelTest {
 protected:
  void SetUp() override {
    TunnelTest::SetUp();
    jump_ = *PrivateSshd::Start();
    UseJump(jump_->port());
    options_.host = "inner";
    UseDeadlines(seconds(30));
    options_.keepalive_interval = milliseconds(1000);
    service_ = std::make_unique<Service>(options_.remote_socket, Echo);
  }
  void TearDown() override {
    for (PrivateSshd* sshd : {jump_.get(), sshd_}) {
      if (ReadFile(sshd->dir() + "/sshd.pid").ok()) sshd->Signal(SIGCONT);
    }
    EXPECT_TRUE(Eventually([&] { return !AnyProgram(); }, seconds(10))) << "an ssh was left";
    if (HasFailure()) {
      std::printf("the jump host's sshd said:\n%s\n",
                  ReadFile(jump_->dir() + "/sshd.log").value_or("").c_str());
    }
    TunnelTest::TearDown();
  }

  // The way to "inner" leads through this port of the jump host, by this key (empty: the one that
  // it accepts), and to this port of the target (0: its own).
  void UseJump(int jump_port, const std::string& jump_key = "", int target_port = 0) {
    options_.ssh_config = dir_->path() + "/config";
    sshd_->WriteSshConfigThrough({jump_.get(), jump_port, jump_key, target_port}, "inner",
                                 options_.ssh_config);
  }

  // A tunnel takes several programs and key exchanges, one after another: short deadlines are for
  // what is frozen.
  void UseDeadlines(seconds deadline) {
    options_.connect_deadline = options_.stream_deadline = options_.dead_after = deadline;
    bounded_ = 3 * deadline + seconds(5);
  }

  // Opens a tunnel as `whet` does, which has these signals blocked: no program may inherit that.
  absl::StatusOr<std::unique_ptr<Tunnel>> Open() {
    sigset_t stops, before;
    sigemptyset(&stops);
    for (const int s : {SIGINT, SIGTERM}) sigaddset(&stops, s);
    EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &stops, &before), 0);
    auto tunnel = TunnelTest::Open();
    EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
    return tunnel;
  }

  // Opens a tunnel, and expects that it does not take long.
  absl::StatusOr<std::unique_ptr<Tunnel>> OpenBounded() {
    const auto start = SteadyClock::now();
    auto tunnel = Open();
    EXPECT_LT(SteadyClock::now() - start, bounded_) << tunnel.status();
    return tunnel;
  }

  // Expects that the tunnel finds out in time that it was lost, and ends what was open.
  void ExpectLost(const UniqueFd& open) {
    EXPECT_TRUE(Eventually([&] { return SeenEvent(TunnelEvent::State::kLost); }, bounded_));
    char c;
    EXPECT_LE(recv(open.get(), &c, 1, 0), 0) << "streams must end with the connection";
  }

  void ExpectBoundedEnd(std::unique_ptr<Tunnel> tunnel) {
    const auto start = SteadyClock::now();
    tunnel.reset();
    EXPECT_LT(SteadyClock::now() - start, bounded_) << "closing took long";
  }

  // Whether an `ssh` of this test's runs.
  bool AnyProgram() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string words = ReadFile(entry.path().string() + "/cmdline").value_or("");
      if (absl::StartsWith(words, "ssh") && absl::StrContains(words, dir_->path())) return true;
    }
    return false;
  }

  seconds bounded_{};  // no wait of a tunnel is longer than its deadlines, and what ending takes
  std::unique_ptr<PrivateSshd> jump_;
  std::unique_ptr<Service> service_;
};

TEST_P(JumpHostTest, IsPassedThrough) {
  TcpRelay relay("127.0.0.1", jump_->port());
  UseJump(relay.port());
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_EQ(relay.connections(), 1);
  EXPECT_TRUE(RoundTrip());
  // More than any buffer on the way holds goes there and back.
  const UniqueFd fd = Connect();
  std::thread sender([&] { EXPECT_TRUE(SendSequence(fd.get(), 1, 64)); });
  EXPECT_TRUE(ReceiveSequence(fd.get(), 1, 64));
  sender.join();
  ExpectBoundedEnd(*std::move(tunnel));
}

TEST_P(JumpHostTest, KilledIsFoundOutAndComesBack) {
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd open = Connect();
  ASSERT_TRUE(RoundTrip());
  ASSERT_TRUE(jump_->Stop().ok());
  ExpectLost(open);
  EXPECT_TRUE(Eventually([&] { return absl::IsUnavailable((*tunnel)->status()); }));
  ASSERT_TRUE(jump_->Restart().ok());
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
  ASSERT_TRUE(jump_->Stop().ok());
  ExpectBoundedEnd(*std::move(tunnel));
}

TEST_P(JumpHostTest, FrozenIsFoundOutAndComesBack) {
  UseDeadlines(kWhenFrozen);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd open = Connect();
  ASSERT_TRUE(RoundTrip());
  jump_->Signal(SIGSTOP);
  ExpectLost(open);
  jump_->Signal(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
  jump_->Signal(SIGSTOP);
  ExpectBoundedEnd(*std::move(tunnel));
}

TEST_P(JumpHostTest, FrozenFromTheBeginningMeetsTheDeadline) {
  UseDeadlines(kWhenFrozen);
  jump_->Signal(SIGSTOP);
  const auto tunnel = OpenBounded();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kDeadlineExceeded) << tunnel.status();
}

TEST_P(JumpHostTest, AFrozenTargetBehindItIsFoundOutAndComesBack) {
  UseDeadlines(kWhenFrozen);
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd open = Connect();
  ASSERT_TRUE(RoundTrip());
  sshd_->Signal(SIGSTOP);
  ExpectLost(open);
  sshd_->Signal(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
  sshd_->Signal(SIGSTOP);
  ExpectBoundedEnd(*std::move(tunnel));
}

// Each connection is cut after one piece more of what the server says, until it is enough: amid
// greetings, keys, and the answer to ours. None of it is for good.
TEST_P(JumpHostTest, BrokenDuringAuthenticationIsTriedAgain) {
  for (const bool before_jump : {true, false}) {
    TcpRelay relay("127.0.0.1", before_jump ? jump_->port() : sshd_->port());
    if (before_jump) UseJump(relay.port());
    if (!before_jump) UseJump(jump_->port(), "", relay.port());
    int pieces = 1;
    for (; pieces < 30; ++pieces) {
      relay.CutAfter(pieces);
      const auto tunnel = OpenBounded();
      if (tunnel.ok()) break;
      EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnavailable)
          << "after " << pieces << ": " << tunnel.status();
    }
    EXPECT_GT(pieces, 4);
    EXPECT_LT(pieces, 30) << "never opened";
  }
}

TEST_P(JumpHostTest, ARefusedKeySaysWhatToDo) {
  UseJump(jump_->port(), sshd_->dir() + "/host_key");
  const auto tunnel = OpenBounded();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnauthenticated) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("authorized_keys"));
}

// Its sshd hangs up on the first key, and says why.
TEST_P(JumpHostTest, AKeyRefusedForGoodIsNoLostConnection) {
  ASSERT_TRUE(jump_->Configure("MaxAuthTries 1\n").ok());
  ASSERT_TRUE(jump_->Stop().ok() && jump_->Restart().ok());
  options_.ssh_config = jump_->SshConfigWith(
      "wrong_key", "IdentityFile", absl::StrCat("  IdentityFile ", jump_->dir(), "/host_key"));
  const auto tunnel = OpenBounded();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnauthenticated) << tunnel.status();
}

TEST_P(JumpHostTest, AnEncryptedKeySaysWhatToDo) {
  const std::string key = dir_->path() + "/locked";
  ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -a 1 -N secret -C x -f " + key).c_str()), 0);
  std::ofstream(jump_->dir() + "/authorized_keys", std::ios::app) << *ReadFile(key + ".pub");
  UseJump(jump_->port(), key);
  const auto tunnel = OpenBounded();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnauthenticated) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("ssh-agent"));
}

TEST_P(JumpHostTest, AnUnknownHostKeyOfItsIsRefused) {
  const std::string known = options_.ssh_config + "_known_jump";
  ASSERT_TRUE(WriteFileAtomically(known, "").ok());
  const auto tunnel = OpenBounded();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_EQ(*ReadFile(known), "") << "nothing may be added silently";
}

TEST_P(JumpHostTest, ForwardingRefusedSaysWhichSettingForbidsIt) {
  ASSERT_TRUE(jump_->Configure("AllowTcpForwarding no\n").ok());
  ASSERT_TRUE(jump_->Stop().ok() && jump_->Restart().ok());
  const auto tunnel = OpenBounded();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("AllowTcpForwarding"));
}

TEST_P(JumpHostTest, ThatHasHadEnoughOfConnectionsIsTriedAgain) {
  ASSERT_TRUE(jump_->Configure("MaxStartups 1:100:1\n").ok());
  ASSERT_TRUE(jump_->Stop().ok() && jump_->Restart().ok());
  // Who signs in never holds the only place.
  UniqueFd silent;
  ASSERT_TRUE(Eventually([&] {
    silent = *ConnectTcp("127.0.0.1", jump_->port(), SteadyClock::now() + seconds(5), seconds(60),
                         nullptr);
    pollfd p = {silent.get(), POLLIN, 0};
    char c = 0;
    return poll(&p, 1, 5000) == 1 && recv(silent.get(), &c, 1, 0) == 1 && c == 'S';
  }));
  const auto refused = OpenBounded();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable) << refused.status();
  silent = UniqueFd();
  EXPECT_TRUE(Eventually([&] { return Open().ok(); }));
}

TEST_P(JumpHostTest, WithoutAnAddressIsAnErrorThatNamesIt) {
  std::string config = *ReadFile(options_.ssh_config);
  config.replace(config.rfind("HostName 127.0.0.1"), 18, "HostName no-such-host.invalid");
  ASSERT_TRUE(WriteFileAtomically(options_.ssh_config, config).ok());
  const auto tunnel = OpenBounded();
  // A machine without a name server learns nothing before the deadline.
  EXPECT_THAT(tunnel.status().code(),
              testing::AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(std::string(tunnel.status().message()),
              testing::AnyOf(HasSubstr("no-such-host.invalid"), HasSubstr("no answer from")));
}

// By way of the jump host, and straight to it.
TEST_P(JumpHostTest, TwentyLostTunnelsLeaveNoDescriptor) {
  const auto descriptors = [&] {
    service_.reset();  // which keeps its own until its end
    const std::filesystem::directory_iterator all("/proc/self/fd"), end;
    const auto count = std::distance(all, end);
    service_ = std::make_unique<Service>(options_.remote_socket, Echo);
    return count;
  };
  for (const bool straight : {false, true}) {
    if (straight) options_.ssh_config = jump_->ssh_config();
    auto tunnel = Open();
    ASSERT_TRUE(tunnel.ok()) << tunnel.status();
    ASSERT_TRUE(RoundTrip());
    const auto before = descriptors();
    for (int i = 0; i < (straight ? 5 : 20); ++i) {
      const UniqueFd open = Connect();
      jump_->SignalConnections(SIGKILL);
      char c;
      EXPECT_LE(recv(open.get(), &c, 1, 0), 0) << i;
      ASSERT_TRUE(Eventually([&] { return RoundTrip(); })) << i;
    }
    EXPECT_TRUE(Eventually([&] { return descriptors() <= before; }, seconds(10)))
        << before << " before, now " << descriptors();
  }
}

INSTANTIATE_TUNNEL_TESTS(JumpHostTest);

}  // namespace
}  // namespace whetstone
