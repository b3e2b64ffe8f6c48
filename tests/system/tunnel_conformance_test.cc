// These tests try what every Tunnel must do with bytes against a real sshd on loopback, for each
// implementation. Signing in is tunnel_login_test.cc, what can go wrong is tunnel_fault_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/tunnel_fixture.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;
using testing::HasSubstr;

using TunnelConformanceTest = TunnelTest;

// Whether `bytes` begins to grow and then stays as it is for a while.
testing::AssertionResult ComesToAStand(const std::atomic<size_t>& bytes) {
  size_t before = 0;
  SteadyClock::time_point grew = SteadyClock::now();
  return Eventually([&] {
    const size_t now = bytes;
    if (std::exchange(before, now) != now) grew = SteadyClock::now();
    return now > 0 && SteadyClock::now() - grew > milliseconds(500);
  });
}

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
  // Each has its own answer, longer than one SSH packet, and all are in flight together.
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
  ASSERT_TRUE(ComesToAStand(flooded)) << "although nobody reads";
  EXPECT_LT(flooded.load(), 16u << 20) << "somebody buffers without limit";
  // Others are not held up.
  const UniqueFd other = Connect();
  char answer = 0;
  ASSERT_TRUE(other && SendAll(other.get(), "e", 1));
  EXPECT_TRUE(ReceiveAll(other.get(), &answer, 1));
  // The sender goes on when the slow one reads.
  std::vector<char> drain(32 << 20);
  EXPECT_TRUE(ReceiveAll(slow.get(), drain.data(), drain.size()));
  EXPECT_GE(flooded.load(), 32u << 20);
}

TEST_P(TunnelConformanceTest, SlowServiceStopsTheClient) {
  std::atomic<bool> read_on{false};
  const Service service(options_.remote_socket, [&](int fd) {
    EXPECT_TRUE(Eventually([&] { return read_on.load(); }));
    ReceiveSequence(fd, 3, 512);
    SendAll(fd, "done", 4);
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  ASSERT_TRUE(fd);
  std::atomic<size_t> sent{0};
  std::thread sender([&] { SendSequence(fd.get(), 3, 512, &sent); });  // 32 MiB
  EXPECT_TRUE(ComesToAStand(sent)) << "although nobody reads";
  EXPECT_LT(sent.load(), 16u << 20) << "somebody buffers without limit";
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
    while (recv(fd, &c, 1, 0) == 1) all += c;  // This goes on until the client's end-of-file.
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

TEST_P(TunnelConformanceTest, LocalSocketInUseIsAnError) {
  const Service service(options_.remote_socket, Echo);
  const UniqueFd taken = *ListenUnix(options_.local_socket);
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kAlreadyExists) << tunnel.status();
}

TEST_P(TunnelConformanceTest, OpeningLeavesNoStreamBehind) {
  std::atomic<int> ended{0};
  const Service service(options_.remote_socket, [&](int fd) {
    char c;
    EXPECT_LE(recv(fd, &c, 1, 0), 0);
    ++ended;
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_TRUE(Eventually([&] { return service.connections() > 0; }));
  EXPECT_TRUE(Eventually([&] { return ended == service.connections(); }));
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

// The reply is longer than libssh's own reading buffer; then the far side says nothing more and
// stays.
TEST_P(TunnelConformanceTest, TenThousandBytesThenSilenceArriveWhole) {
  const Service service(options_.remote_socket, [](int fd) {
    const std::string reply(10000, 'r');
    char question = 0;
    while (ReceiveAll(fd, &question, 1)) SendAll(fd, reply.data(), reply.size());
  });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  for (int i = 0; i < 50; ++i) {
    std::string reply(10000, '\0');
    const auto start = SteadyClock::now();
    ASSERT_TRUE(SendAll(fd.get(), "?", 1) && ReceiveAll(fd.get(), reply.data(), reply.size())) << i;
    EXPECT_EQ(reply, std::string(10000, 'r')) << i;
    EXPECT_LT(SteadyClock::now() - start, seconds(3)) << "its end waited for something else";
  }
  char more;
  EXPECT_EQ(recv(fd.get(), &more, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN) << "open, and silent";
}

// This is a gigabyte, or a quarter where OpenSSH's own code carries it.
TEST_P(TunnelConformanceTest, AGigabyteArrivesWhole) {
  const size_t blocks = GetParam().open == OpenLibsshTunnel ? 1 << 14 : 1 << 12;  // of 64 KiB
  const Service service(options_.remote_socket, [=](int fd) { SendSequence(fd, 4, blocks); });
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  const UniqueFd fd = Connect();
  const auto start = SteadyClock::now();
  EXPECT_TRUE(ReceiveSequence(fd.get(), 4, blocks));
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  std::printf("%zu MiB in %.2f s\n", blocks / 16, seconds);
}

TEST_P(TunnelConformanceTest, ATcpPortOfTheHostIsReachedAsWell) {
  const Service service(Echo);
  options_.remote_socket = absl::StrCat("127.0.0.1:", service.port());
  auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_TRUE(RoundTrip());
  tunnel->reset();
  options_.remote_socket = "127.0.0.1:1";
  const auto nobody = Open();
  EXPECT_EQ(nobody.status().code(), absl::StatusCode::kUnavailable) << nobody.status();
  options_.remote_socket = "worker.sock";
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TUNNEL_TESTS(TunnelConformanceTest);

}  // namespace
}  // namespace whetstone
