#include "coordinator/tunnel/byte_copier.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace whetstone {
namespace {

// One Advance moves this many bytes per direction before other connections get their turn.
constexpr size_t kFairShareBytes = 256 << 10;

}  // namespace

ByteCopier::ByteCopier(int local_fd, std::unique_ptr<ByteChannel> channel)
    : fd_(local_fd), channel_(std::move(channel)) {}

ByteCopier::~ByteCopier() { close(fd_); }

short ByteCopier::PollEvents() const {
  short events = 0;
  if (!local_ended_ && !out_.full()) events |= POLLIN;
  if (!in_.empty() && local_full_) events |= POLLOUT;
  return events;
}

bool ByteCopier::Advance(short revents) {
  if (done_) return false;
  if ((revents & (POLLOUT | POLLHUP | POLLERR)) != 0) local_full_ = false;
  bool again = MoveOut((revents & (POLLIN | POLLHUP | POLLERR)) != 0);
  if (!done_ && MoveIn()) again = true;
  if (eof_sent_ && shut_) done_ = true;
  return again && !done_;
}

// Copies from the local socket to the channel.
bool ByteCopier::MoveOut(bool readable) {
  for (size_t moved = 0; moved < kFairShareBytes;) {
    bool progress = false;
    if (readable && !local_ended_ && !out_.full()) {
      const ssize_t n = recv(fd_, out_.room(), out_.room_size(), MSG_DONTWAIT);
      if (n > 0) {
        out_.Filled(static_cast<size_t>(n));
        progress = true;
      } else if (n == 0) {
        local_ended_ = true;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        readable = false;
      } else if (errno != EINTR) {
        done_ = true;  // the local side is gone
        return false;
      }
    }
    if (!out_.empty()) {
      const ssize_t n = channel_->Write(out_.data(), out_.size());
      if (n > 0) {
        out_.Drained(static_cast<size_t>(n));
        moved += static_cast<size_t>(n);
        progress = true;
      } else if (n < 0) {
        // The far side takes no more; what it sent before may still be on its way here.
        out_.Clear();
        local_ended_ = true;
      }
    }
    if (local_ended_ && out_.empty() && !eof_sent_) {
      channel_->SendEof();
      eof_sent_ = true;
    }
    if (!progress) return false;
  }
  return true;
}

// Copies from the channel to the local socket.
bool ByteCopier::MoveIn() {
  for (size_t moved = 0; moved < kFairShareBytes;) {
    bool progress = false;
    if (!remote_ended_ && !in_.full()) {
      const ssize_t n = channel_->Read(in_.room(), in_.room_size());
      if (n > 0) {
        in_.Filled(static_cast<size_t>(n));
        progress = true;
      } else if (n == ByteChannel::kEof) {
        remote_ended_ = true;
      } else if (n == ByteChannel::kBroken) {
        done_ = true;
        return false;
      }
    }
    if (!in_.empty() && !local_full_) {
      const ssize_t n = send(fd_, in_.data(), in_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) {
        in_.Drained(static_cast<size_t>(n));
        moved += static_cast<size_t>(n);
        progress = true;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        local_full_ = true;
      } else if (errno != EINTR) {
        done_ = true;  // the local side is gone
        return false;
      }
    }
    if (remote_ended_ && in_.empty()) {
      if (!shut_) {
        shutdown(fd_, SHUT_WR);
        shut_ = true;
      }
      // The far side is closed, not only half: nothing the local side may still say can arrive.
      if (channel_->WriteClosed()) done_ = true;
    }
    if (!progress) return false;
  }
  return true;
}

}  // namespace whetstone
