// These tests try what a Tunnel does when the other side dies, hangs, comes back or is far away;
// against a real sshd, for each implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "tests/system/lossy_link.h"
#include "tests/system/tcp_relay.h"
#include "tests/system/tunnel_fixture.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;
using testing::HasSubstr;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

absl::Status Expect(bool condition, const std::string& otherwise) {
  return condition ? absl::OkStatus() : absl::InternalError(otherwise);
}

// LoneTunnel is a tunnel apart from any test's fixture, to a server of its own.
struct LoneTunnel {
  explicit LoneTunnel(const Implementation& implementation) : implementation(implementation) {
    options.host = "gpu01";
    options.ssh_config = sshd->ssh_config();
    options.remote_socket = dir.path() + "/remote.sock";
    options.local_socket = dir.path() + "/local.sock";
  }
  absl::Status Open() {
    ASSIGN_OR_RETURN(tunnel, implementation.open(options));
    return absl::OkStatus();
  }
  UniqueFd Connect() const {
    auto fd = ConnectUnix(options.local_socket);
    return fd.ok() ? *std::move(fd) : UniqueFd();
  }
  bool RoundTrip() const {
    const UniqueFd fd = Connect();
    const timeval limit = {20, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    char answer = 0;
    return fd && SendAll(fd.get(), "x", 1) && ReceiveAll(fd.get(), &answer, 1) && answer == 'x';
  }

  const Implementation implementation;
  TempDir dir = *TempDir::Make("tun");
  std::unique_ptr<PrivateSshd> sshd = *PrivateSshd::Start();
  TunnelOptions options;
  std::unique_ptr<Tunnel> tunnel;
};

// SIGSTOP stops the server with all its connections: TCP lives, SSH is silent. With the deadlines
// of a campaign the tunnel finds out within 20 s, ends what was open, and is back after SIGCONT.
absl::Status FrozenServer(const Implementation& implementation) {
  std::atomic<int> lost{0};
  LoneTunnel to(implementation);
  to.options.on_event = [&lost](const TunnelEvent& event) {
    if (event.state == TunnelEvent::State::kLost) ++lost;
  };
  const Service service(to.options.remote_socket, Echo);
  RETURN_IF_ERROR(to.Open());
  RETURN_IF_ERROR(Expect(to.RoundTrip(), "no round trip before"));
  const UniqueFd open = to.Connect();
  to.sshd->Signal(SIGSTOP);
  const auto frozen = SteadyClock::now();
  (void)Eventually([&] { return lost > 0; });  // how long it took is looked at below
  const double found = SecondsSince(frozen);
  std::printf("%s: a frozen server was found out after %.1f s\n", implementation.name, found);
  char byte;
  const bool ended = recv(open.get(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
  to.sshd->Signal(SIGCONT);
  RETURN_IF_ERROR(Expect(found <= 20, absl::StrCat("found out after ", found, " s")));
  RETURN_IF_ERROR(Expect(ended, "an open stream outlived its connection"));
  RETURN_IF_ERROR(
      Expect(Eventually([&] { return to.RoundTrip(); }), "no round trip after SIGCONT"));
  // A frozen server does not hold up the closing either.
  to.sshd->Signal(SIGSTOP);
  const auto closing = SteadyClock::now();
  to.tunnel.reset();
  const double closed = SecondsSince(closing);
  to.sshd->Signal(SIGCONT);
  return Expect(closed < 8, absl::StrCat("closing took ", closed, " s"));
}

// Tries parallel replies and a long transfer over 300 ms and, where the machine can, 1 % loss.
absl::Status FarAway(const Implementation& implementation, const LossyLink* link) {
  LoneTunnel to(implementation);
  // The link ends at the relay, which is next to the server; without a link the relay delays.
  TcpRelay relay(link != nullptr ? LossyLink::kNear : "127.0.0.1", to.sshd->port(),
                 milliseconds(link != nullptr ? 0 : 150));
  to.options.ssh_config =
      to.sshd->SshConfigBy(link != nullptr ? LossyLink::kFar : "127.0.0.1", relay.port());
  const Service service(to.options.remote_socket, Echo);
  const auto start = SteadyClock::now();
  RETURN_IF_ERROR(to.Open());
  const double opened = SecondsSince(start);

  std::atomic<int> whole{0};
  std::vector<std::thread> streams;
  for (int i = 0; i < 20; ++i) {
    streams.emplace_back([&to, &whole, i] {
      const std::string said(10000, static_cast<char>('a' + i));
      std::string heard(said.size(), '\0');
      const UniqueFd fd = to.Connect();
      if (fd && SendAll(fd.get(), said.data(), said.size()) &&
          ReceiveAll(fd.get(), heard.data(), heard.size()) && heard == said) {
        ++whole;
      }
    });
  }
  for (std::thread& t : streams) t.join();
  RETURN_IF_ERROR(Expect(whole == 20, absl::StrCat(whole.load(), " of 20 replies arrived whole")));

  const UniqueFd fd = to.Connect();
  bool sent = false;
  std::thread sender([&] { sent = SendSequence(fd.get(), 5, 4); });
  const bool received = ReceiveSequence(fd.get(), 5, 4);
  sender.join();
  RETURN_IF_ERROR(Expect(sent && received, "256 KiB did not come back whole"));

  double fastest = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto asked = SteadyClock::now();
    RETURN_IF_ERROR(Expect(to.RoundTrip(), "no round trip"));
    fastest = std::min(fastest, SecondsSince(asked));
  }
  std::printf("%s: 300 ms away: opened in %.1f s, all done in %.1f s\n", implementation.name,
              opened, SecondsSince(start));
  return Expect(fastest >= 0.3, absl::StrCat("a round trip took ", fastest, " s: no delay?"));
}

// What takes long but hardly any processor runs beside all other tests, and the last ones ask how
// it went.
class LongWaits : public testing::Environment {
 public:
  void SetUp() override {
    // This process gets a network of its own: the lossy link needs one, and nobody else's ports are
    // in the way.
    no_link_ = EnterOwnNetwork();
    if (no_link_.ok()) {
      auto link = LossyLink::Open(milliseconds(150), /*lose_every=*/100);
      no_link_ = link.status();
      if (link.ok()) link_ = *std::move(link);
    }
    for (const Implementation& each : kImplementations) {
      if (WillRun("AFrozenServer")) {
        frozen_[each.name] = std::async(std::launch::async, [each] { return FrozenServer(each); });
      }
      if (WillRun("AServerFarAway")) {
        far_[each.name] =
            std::async(std::launch::async, [this, each] { return FarAway(each, link_.get()); });
      }
    }
  }
  absl::Status Frozen(const char* name) { return frozen_[name].get(); }
  absl::Status Far(const char* name) { return far_[name].get(); }
  const LossyLink* link() const { return link_.get(); }
  const absl::Status& no_link() const { return no_link_; }  // why there is none

 private:
  static bool WillRun(const char* test) {
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
      const testing::TestSuite& suite = *all.GetTestSuite(s);
      for (int t = 0; t < suite.total_test_count(); ++t) {
        const testing::TestInfo& info = *suite.GetTestInfo(t);
        if (info.should_run() && absl::StrContains(info.name(), test)) return true;
      }
    }
    return false;
  }

  std::unique_ptr<LossyLink> link_;
  absl::Status no_link_;
  std::map<std::string, std::future<absl::Status>> frozen_, far_;
};

LongWaits* const long_waits = [] {
  auto* waits = new LongWaits;
  testing::AddGlobalTestEnvironment(waits);  // GoogleTest owns it.
  return waits;
}();

using TunnelFaultTest = TunnelTest;

TEST_P(TunnelFaultTest, ServiceThatGoesAwayRefusesAndComesBack) {
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

TEST_P(TunnelFaultTest, ReconnectsAfterTheServerWasKilled) {
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

TEST_P(TunnelFaultTest, KilledInTheMiddleOfAReplyEndsTheStreamAndNothingElse) {
  const Service service(options_.remote_socket, [](int fd) {
    char kind = 0;
    if (!ReceiveAll(fd, &kind, 1)) return;
    if (kind == 'x') {
      SendAll(fd, "x", 1);
      return;
    }
    const std::vector<char> block(64 << 10, 'f');
    while (SendAll(fd, block.data(), block.size())) {
    }
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  std::vector<char> some(1 << 20);
  ASSERT_TRUE(SendAll(fd.get(), "f", 1) && ReceiveAll(fd.get(), some.data(), some.size()));
  sshd_->SignalConnections(SIGKILL);
  const auto killed = SteadyClock::now();
  while (ReceiveAll(fd.get(), some.data(), some.size())) {
  }
  EXPECT_LT(SecondsSince(killed), 10) << "the caller waits for what can not come";
  EXPECT_TRUE(Eventually([&] { return SeenEvent(TunnelEvent::State::kLost); }));
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
}

TEST_P(TunnelFaultTest, ReconnectingBacksOff) {
  const Service service(options_.remote_socket, Echo);
  TcpRelay relay("127.0.0.1", sshd_->port());
  options_.ssh_config = sshd_->SshConfigBy("127.0.0.1", relay.port());
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  ASSERT_TRUE(RoundTrip());
  relay.Refuse(true);
  const int before = relay.connections();
  const auto cut = SteadyClock::now();
  relay.Cut();
  ASSERT_TRUE(Eventually([&] { return relay.connections() >= before + 5; }));
  // The attempts come 0.1, 0.2, 0.4, 0.8 and 1.6 s apart.
  EXPECT_GE(SteadyClock::now() - cut, milliseconds(3000));
  EXPECT_FALSE(RoundTrip()) << "refused at once while there is no connection";
  relay.Refuse(false);
  EXPECT_TRUE(Eventually([&] { return RoundTrip(); }));
}

TEST_P(TunnelFaultTest, AHostThatComesBackWithAnotherKeyIsGivenUp) {
  auto sshd = *PrivateSshd::Start();
  const Service service(options_.remote_socket, Echo);
  // This is a copy: the server writes its own known_hosts anew when it starts.
  options_.ssh_config = sshd->SshConfigBy("127.0.0.1", sshd->port());
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  ASSERT_TRUE(RoundTrip());
  ASSERT_TRUE(sshd->Stop().ok());
  ASSERT_EQ(std::system(absl::StrCat("cd ", sshd->dir(), " && rm host_key host_key.pub").c_str()),
            0);
  ASSERT_TRUE(sshd->Restart().ok());
  EXPECT_TRUE(Eventually([&] { return SeenEvent(TunnelEvent::State::kFailed); }));
  EXPECT_TRUE(absl::IsPermissionDenied((*tunnel)->status())) << (*tunnel)->status();
  EXPECT_FALSE(RoundTrip());
}

// These two come last: long_waits began with the program.
TEST_P(TunnelFaultTest, AServerFarAwayOverALossyLinkWorks) {
  const absl::Status far = long_waits->Far(GetParam().name);
  ASSERT_TRUE(far.ok()) << far;
  if (long_waits->link() == nullptr) {
    GTEST_SKIP() << "it works 300 ms away, but no link that loses packets can be made here: "
                 << long_waits->no_link().message();
  }
  std::printf("%d of %d packets lost\n", static_cast<int>(long_waits->link()->lost()),
              static_cast<int>(long_waits->link()->packets()));
  EXPECT_GT(long_waits->link()->lost(), 0);
}

TEST_P(TunnelFaultTest, AFrozenServerIsFoundOutWithinTwentySeconds) {
  const absl::Status frozen = long_waits->Frozen(GetParam().name);
  EXPECT_TRUE(frozen.ok()) << frozen;
}

INSTANTIATE_TUNNEL_TESTS(TunnelFaultTest);

}  // namespace
}  // namespace whetstone
