#include "tests/system/tcp_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "tests/system/tunnel_fixture.h"

namespace whetstone {
namespace {

// More than this on its way stops the reading: TCP pushes back.
constexpr size_t kPiecesMax = 64;
constexpr size_t kPieceBytes = 64 << 10;

bool Ended(int n) { return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR); }

}  // namespace

TcpRelay::TcpRelay(const char* address, int to_port, std::chrono::milliseconds one_way)
    : to_port_(to_port), one_way_(one_way) {
  listener_ = ListenTcp(address, &port_);
  thread_ = std::thread([this] { Run(); });
}

TcpRelay::~TcpRelay() {
  stop_ = true;
  thread_.join();
}

void TcpRelay::Run() {
  while (!stop_) {
    std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}};
    Clock::time_point next = Clock::now() + std::chrono::milliseconds(20);
    for (const Link& link : links_) {
      for (const Way* way : {&link.there, &link.back}) {
        if (!way->ended && way->pieces.size() < kPiecesMax) fds.push_back({way->from, POLLIN, 0});
        if (way->full) fds.push_back({way->to, POLLOUT, 0});
        if (!way->full && !way->pieces.empty()) next = std::min(next, way->pieces.front().due);
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (cut_.exchange(false)) links_.clear();
    Accept();
    links_.remove_if([this](Link& link) {
      return !Take(link.there) || !Take(link.back) || !Give(link.there) || !Give(link.back) ||
             link.back.passed >= cut_after_;
    });
  }
}

void TcpRelay::Accept() {
  while (true) {
    UniqueFd near(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!near) return;
    ++connections_;
    if (refuse_) continue;
    auto far = ConnectTcp("127.0.0.1", to_port_, Clock::now() + std::chrono::seconds(5),
                          std::chrono::seconds(60), nullptr);
    if (!far.ok()) continue;
    Link link;
    link.near = std::move(near);
    link.far = *std::move(far);
    link.there.from = link.back.to = link.near.get();
    link.there.to = link.back.from = link.far.get();
    links_.push_back(std::move(link));
  }
}

bool TcpRelay::Take(Way& way) const {
  while (!way.ended && way.pieces.size() < kPiecesMax) {
    std::string bytes(kPieceBytes, '\0');
    const int n = static_cast<int>(recv(way.from, bytes.data(), bytes.size(), MSG_DONTWAIT));
    if (n < 0 && !Ended(n)) return true;
    if (n < 0) return false;
    way.ended = n == 0;
    bytes.resize(static_cast<size_t>(n));
    way.pieces.push_back({Clock::now() + one_way_, std::move(bytes)});
  }
  return true;
}

bool TcpRelay::Give(Way& way) const {
  way.full = false;
  while (!way.pieces.empty() && way.pieces.front().due <= Clock::now()) {
    std::string& bytes = way.pieces.front().bytes;
    if (bytes.empty()) {
      shutdown(way.to, SHUT_WR);
      way.pieces.pop_front();
      continue;
    }
    const int n =
        static_cast<int>(send(way.to, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    if (n < 0) {
      way.full = !Ended(n);
      return way.full;
    }
    bytes.erase(0, static_cast<size_t>(n));
    if (!bytes.empty()) continue;
    way.pieces.pop_front();
    ++way.passed;
  }
  return true;
}

}  // namespace whetstone
