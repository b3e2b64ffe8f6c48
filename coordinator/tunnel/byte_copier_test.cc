#include "coordinator/tunnel/byte_copier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace whetstone {
namespace {

// The test moves the far side by hand: a window limits what it takes, and it gives text.
struct FarSide {
  std::string taken;
  size_t window = SIZE_MAX;
  std::string to_give;
  bool eof = false;     // it ends after to_give
  bool broken = false;  // nothing passes
  bool closed = false;  // takes no more
  int eofs_received = 0;
  size_t reads = 0;
};

class FakeChannel final : public ByteChannel {
 public:
  explicit FakeChannel(FarSide* far) : far_(far) {}
  ssize_t Write(const char* data, size_t size) override {
    if (far_->broken || far_->closed) return kBroken;
    const size_t n = std::min(size, far_->window);
    far_->taken.append(data, n);
    far_->window -= n;
    return static_cast<ssize_t>(n);
  }
  ssize_t Read(char* data, size_t size) override {
    ++far_->reads;
    if (far_->broken) return kBroken;
    if (far_->to_give.empty()) return far_->eof ? kEof : 0;
    const size_t n = std::min(size, far_->to_give.size());
    std::memcpy(data, far_->to_give.data(), n);
    far_->to_give.erase(0, n);
    return static_cast<ssize_t>(n);
  }
  void SendEof() override { ++far_->eofs_received; }
  bool WriteClosed() const override { return far_->closed; }

 private:
  FarSide* const far_;
};

// The test holds the other end of the copier's local socket.
class ByteCopierTest : public testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    here_ = fds[0];
    copier_ = std::make_unique<ByteCopier>(fds[1], std::make_unique<FakeChannel>(&far_));
  }
  void TearDown() override {
    copier_.reset();
    if (here_ >= 0) close(here_);
  }

  // Runs one round of the loop, as the copier's owner would.
  bool Round() {
    pollfd p = {copier_->PollEvents() != 0 ? copier_->fd() : -1, copier_->PollEvents(), 0};
    poll(&p, 1, 0);
    return copier_->Advance(p.revents);
  }
  void Rounds(int n = 50) {
    for (int i = 0; i < n && !copier_->done(); ++i) Round();
  }
  void Send(const std::string& text) {
    ASSERT_EQ(send(here_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  std::string Receive() {
    std::string all(1 << 20, '\0');
    const ssize_t n = recv(here_, all.data(), all.size(), MSG_DONTWAIT);
    all.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return all;
  }
  bool HereAtEof() {
    char c;
    return recv(here_, &c, 1, MSG_DONTWAIT) == 0;
  }

  FarSide far_;
  int here_ = -1;
  std::unique_ptr<ByteCopier> copier_;
};

TEST_F(ByteCopierTest, MovesBothWays) {
  Send("ping");
  far_.to_give = "pong";
  Rounds();
  EXPECT_EQ(far_.taken, "ping");
  EXPECT_EQ(Receive(), "pong");
  EXPECT_FALSE(copier_->done());
}

TEST_F(ByteCopierTest, ClosedWindowStopsReadingLocally) {
  far_.window = 0;
  fcntl(here_, F_SETFL, O_NONBLOCK);
  const std::string block(64 << 10, 'x');
  size_t accepted = 0;
  for (int idle = 0; idle < 3;) {
    const ssize_t n = send(here_, block.data(), block.size(), MSG_NOSIGNAL);
    if (n > 0) accepted += static_cast<size_t>(n);
    idle = n > 0 ? 0 : idle + 1;
    Round();
  }
  // Only the kernel's socket buffers and the copier's own buffer took bytes.
  EXPECT_LT(accepted, 2u << 20);
  EXPECT_EQ(copier_->PollEvents(), 0) << "a full buffer must not keep the loop awake";
  EXPECT_TRUE(far_.taken.empty());

  far_.window = SIZE_MAX;
  Rounds(1000);
  EXPECT_EQ(far_.taken.size(), accepted);
}

TEST_F(ByteCopierTest, SlowLocalReaderStopsReadingTheChannel) {
  far_.to_give.assign(8 << 20, 'y');
  Rounds(1000);
  const size_t taken = (8u << 20) - far_.to_give.size();
  EXPECT_LT(taken, 2u << 20);
  EXPECT_NE(copier_->PollEvents() & POLLOUT, 0);
  const size_t reads = far_.reads;
  Rounds(10);
  EXPECT_EQ(far_.reads, reads) << "read although there was no room";

  size_t received = 0;
  for (int i = 0; i < 10000 && received < (8u << 20); ++i) {
    received += Receive().size();
    Round();
  }
  EXPECT_EQ(received, 8u << 20);
}

TEST_F(ByteCopierTest, LocalHalfCloseReachesTheFarSideAfterTheLastByte) {
  far_.window = 2;
  Send("abc");
  shutdown(here_, SHUT_WR);
  Rounds();
  EXPECT_EQ(far_.taken, "ab");
  EXPECT_EQ(far_.eofs_received, 0) << "end-of-file overtook data";
  far_.window = 10;
  Rounds();
  EXPECT_EQ(far_.taken, "abc");
  EXPECT_EQ(far_.eofs_received, 1);
  // The other direction still works.
  far_.to_give = "answer";
  Rounds();
  EXPECT_EQ(Receive(), "answer");
  EXPECT_FALSE(copier_->done());
  far_.eof = true;
  Rounds();
  EXPECT_TRUE(copier_->done());
  EXPECT_EQ(far_.eofs_received, 1);
}

TEST_F(ByteCopierTest, RemoteHalfCloseReachesTheLocalSideAfterTheLastByte) {
  far_.to_give = "last words";
  far_.eof = true;
  Rounds();
  EXPECT_EQ(Receive(), "last words");
  EXPECT_TRUE(HereAtEof());
  EXPECT_FALSE(copier_->done());
  Send("still heard");
  Rounds();
  EXPECT_EQ(far_.taken, "still heard");
  shutdown(here_, SHUT_WR);
  Rounds();
  EXPECT_TRUE(copier_->done());
}

TEST_F(ByteCopierTest, FullyClosedFarSideEndsIt) {
  far_.to_give = "bye";
  far_.eof = true;
  far_.closed = true;
  Rounds();
  EXPECT_EQ(Receive(), "bye");
  EXPECT_TRUE(copier_->done());
}

TEST_F(ByteCopierTest, FarSideThatTakesNoMoreStillDeliversWhatItSent) {
  far_.closed = true;
  far_.to_give = "error: go away";
  Send("request");
  Rounds(3);
  EXPECT_EQ(Receive(), "error: go away");
  far_.eof = true;
  Rounds();
  EXPECT_TRUE(copier_->done());
}

TEST_F(ByteCopierTest, BrokenChannelEndsIt) {
  far_.broken = true;
  Rounds(1);
  EXPECT_TRUE(copier_->done());
}

TEST_F(ByteCopierTest, LocalSideGoneEndsIt) {
  far_.to_give.assign(1 << 20, 'z');
  close(here_);
  here_ = -1;
  Rounds();
  EXPECT_TRUE(copier_->done());
}

TEST_F(ByteCopierTest, YieldsAfterItsShare) {
  far_.to_give.assign(4 << 20, 'y');
  std::thread reader([this] {
    std::vector<char> buffer(1 << 20);
    for (size_t got = 0; got < (4u << 20);) {
      const ssize_t n = recv(here_, buffer.data(), buffer.size(), 0);
      if (n <= 0) return;
      got += static_cast<size_t>(n);
    }
  });
  // However fast the reader is, one round moves a share and not everything.
  const size_t before = far_.to_give.size();
  Round();
  EXPECT_GE(far_.to_give.size() + (512 << 10), before);
  while (!far_.to_give.empty()) {
    pollfd p = {copier_->fd(), static_cast<short>(copier_->PollEvents() | POLLOUT), 0};
    poll(&p, 1, 100);
    copier_->Advance(p.revents);
  }
  Rounds();
  shutdown(copier_->fd(), SHUT_RDWR);
  reader.join();
}

// The copier stands between two real sockets here, with three threads and random sizes.
class SocketChannel final : public ByteChannel {
 public:
  explicit SocketChannel(int fd) : fd_(fd) {}
  ~SocketChannel() override { close(fd_); }
  ssize_t Write(const char* data, size_t size) override {
    const ssize_t n = send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n >= 0 ? n : errno == EAGAIN ? 0 : kBroken;
  }
  ssize_t Read(char* data, size_t size) override {
    const ssize_t n = recv(fd_, data, size, MSG_DONTWAIT);
    return n > 0 ? n : n == 0 ? kEof : errno == EAGAIN ? 0 : kBroken;
  }
  void SendEof() override { shutdown(fd_, SHUT_WR); }
  bool WriteClosed() const override { return false; }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Sends `total` bytes of a known sequence in odd portions while receiving as many; returns whether
// what came back is the same sequence.
bool Exchange(int fd, size_t total, size_t portion) {
  std::thread sender([=] {
    std::vector<unsigned char> block(portion);
    for (size_t sent = 0; sent < total;) {
      const size_t n = std::min(portion, total - sent);
      for (size_t i = 0; i < n; ++i) block[i] = static_cast<unsigned char>((sent + i) * 31 >> 3);
      for (size_t at = 0; at < n;) {
        const ssize_t k = send(fd, block.data() + at, n - at, MSG_NOSIGNAL);
        if (k <= 0) return;
        at += static_cast<size_t>(k);
      }
      sent += n;
    }
    shutdown(fd, SHUT_WR);
  });
  std::vector<unsigned char> block(portion * 3 + 1);
  size_t got = 0;
  bool same = true;
  while (true) {
    const ssize_t n = recv(fd, block.data(), block.size(), 0);
    if (n <= 0) break;
    for (ssize_t i = 0; i < n; ++i, ++got) {
      if (block[static_cast<size_t>(i)] != static_cast<unsigned char>(got * 31 >> 3)) same = false;
    }
  }
  sender.join();
  return same && got == total;
}

TEST(ByteCopierThreadsTest, CarriesMegabytesBothWaysAtOnce) {
  int near[2], far[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, near), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, far), 0);
  std::thread copying([&] {
    auto channel = std::make_unique<SocketChannel>(far[0]);
    const int channel_fd = channel->fd();
    ByteCopier copier(near[1], std::move(channel));
    while (!copier.done()) {
      pollfd fds[2] = {{copier.PollEvents() != 0 ? copier.fd() : -1, copier.PollEvents(), 0},
                       {channel_fd, POLLIN, 0}};
      poll(fds, 2, 5);
      copier.Advance(fds[0].revents);
    }
  });
  bool far_ok = false;
  std::thread far_end([&] { far_ok = Exchange(far[1], 5'000'001, 40'009); });
  EXPECT_TRUE(Exchange(near[0], 5'000'001, 7'001));
  far_end.join();
  copying.join();
  EXPECT_TRUE(far_ok);
  close(near[0]);
  close(far[1]);
}

}  // namespace
}  // namespace whetstone
