#include "tests/system/tunnel_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/process/child_process.h"

namespace whetstone {

using std::chrono::milliseconds;
using std::chrono::seconds;

UniqueFd ListenTcp(const char* address, int* port) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in bound = {};
  bound.sin_family = AF_INET;
  CHECK(inet_pton(AF_INET, address, &bound.sin_addr) == 1);
  socklen_t length = sizeof(bound);
  CHECK(bind(listener.get(), reinterpret_cast<sockaddr*>(&bound), length) == 0);
  CHECK(listen(listener.get(), 128) == 0);
  CHECK(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &length) == 0);
  *port = ntohs(bound.sin_port);
  return listener;
}

Service::Service(const std::string& path, Handler handler)
    : path_(path), handler_(std::move(handler)), listener_(*ListenUnix(path)) {
  thread_ = std::thread([this] { Accept(); });
}

Service::Service(Handler handler) : handler_(std::move(handler)) {
  listener_ = ListenTcp("127.0.0.1", &port_);
  thread_ = std::thread([this] { Accept(); });
}

Service::~Service() {
  stop_ = true;
  thread_.join();
  for (const int fd : fds_) shutdown(fd, SHUT_RDWR);
  for (std::thread& t : connections_) t.join();
  for (const int fd : fds_) close(fd);
  if (!path_.empty()) unlink(path_.c_str());
}

void Service::Accept() {
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

namespace {

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

}  // namespace

bool SendSequence(int fd, uint64_t seed, size_t blocks, std::atomic<size_t>* sent) {
  Sequence sequence(seed);
  std::vector<uint64_t> words(8192);
  for (size_t i = 0; i < blocks; ++i) {
    sequence.Fill(&words);
    if (!SendAll(fd, words.data(), words.size() * 8)) return false;
    if (sent != nullptr) sent->fetch_add(words.size() * 8);
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

PrivateSshd* TunnelTest::sshd_ = nullptr;

void TunnelTest::SetUpTestSuite() {
  auto sshd = PrivateSshd::Start();
  ASSERT_TRUE(sshd.ok()) << sshd.status();
  sshd_ = sshd->release();
}

void TunnelTest::TearDownTestSuite() {
  delete sshd_;
  sshd_ = nullptr;
}

void TunnelTest::SetUp() {
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

void TunnelTest::TearDown() {
  if (!HasFailure() || sshd_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const TunnelEvent& event : events_) {
    std::printf("the tunnel's event %d: %s\n", static_cast<int>(event.state), event.detail.c_str());
  }
  std::printf("sshd said:\n%s\n", LastLines(sshd_->dir() + "/sshd.log", 20).c_str());
}

UniqueFd TunnelTest::Connect() const {
  auto fd = ConnectUnix(options_.local_socket);
  if (!fd.ok()) return UniqueFd();
  const timeval limit = {60, 0};
  setsockopt(fd->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  return *std::move(fd);
}

bool TunnelTest::RoundTrip() const {
  const UniqueFd fd = Connect();
  char answer = 0;
  return fd && SendAll(fd.get(), "x", 1) && ReceiveAll(fd.get(), &answer, 1) && answer == 'x';
}

bool TunnelTest::SeenEvent(TunnelEvent::State state) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const TunnelEvent& event : events_) {
    if (event.state == state) return true;
  }
  return false;
}

}  // namespace whetstone
