// Copies bytes both ways between a local socket and one SSH channel, without ever blocking and
// without ever holding more than two small buffers: a side is read only while the buffer towards
// the other side has room, so a slow reader anywhere stops its writer (back-pressure) instead of
// filling memory, and never delays another connection.
//
//   ByteCopier copier(fd, std::move(channel));
//   while (!copier.done()) {
//     pollfd p = {copier.fd(), copier.PollEvents(), 0};     // plus whatever wakes the channel
//     poll(&p, 1, …);
//     copier.Advance(p.revents);
//   }
//
// Half-close travels: when the local side stops writing, the channel gets an end-of-file after the
// last byte, and the other way round; the copier is done when both directions have ended.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_BYTE_COPIER_H_
#define WHETSTONE_COORDINATOR_TUNNEL_BYTE_COPIER_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <memory>

namespace whetstone {

// The far side is a stream with flow control. No call may block.
class ByteChannel {
 public:
  virtual ~ByteChannel() = default;

  static constexpr ssize_t kEof = -1;     // the far side has ended its direction
  static constexpr ssize_t kBroken = -2;  // nothing will ever pass again

  // Takes up to `size` bytes; returns how many, 0: not now, kBroken.
  virtual ssize_t Write(const char* data, size_t size) = 0;
  // Gives up to `size` bytes; returns how many, 0: none now, kEof, kBroken.
  virtual ssize_t Read(char* data, size_t size) = 0;
  // Ends our direction; it is called once, after the last Write.
  virtual void SendEof() = 0;
  // Returns whether the far side can take nothing more (closed, not only half).
  virtual bool WriteClosed() const = 0;
};

// A CopyBuffer is fixed, filled at one end and drained at the other.
class CopyBuffer {
 public:
  static constexpr size_t kBytes = 64 << 10;
  bool empty() const { return begin_ == end_; }
  bool full() const { return end_ == kBytes; }
  const char* data() const { return bytes_.data() + begin_; }
  size_t size() const { return end_ - begin_; }
  char* room() { return bytes_.data() + end_; }
  size_t room_size() const { return kBytes - end_; }
  void Filled(size_t n) { end_ += n; }
  void Drained(size_t n) {
    begin_ += n;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void Clear() { begin_ = end_ = 0; }

 private:
  size_t begin_ = 0;
  size_t end_ = 0;
  std::array<char, kBytes> bytes_;
};

// A copier is not thread-safe: it belongs to the thread that owns the channel.
class ByteCopier {
 public:
  // Owns `local_fd`, a connected, non-blocking stream socket, and closes it.
  ByteCopier(int local_fd, std::unique_ptr<ByteChannel> channel);
  ~ByteCopier();
  ByteCopier(const ByteCopier&) = delete;
  ByteCopier& operator=(const ByteCopier&) = delete;

  int fd() const { return fd_; }
  // Returns the events that fd() must be polled for. 0: leave it out of the poll set (a hang-up
  // there would wake the loop again and again while there is nothing to do about it).
  short PollEvents() const;

  // Copies what can be copied now. `revents` is what poll said about fd().
  // Returns true if it stopped at its fair share and wants to be called again at once.
  bool Advance(short revents);

  bool done() const { return done_; }

 private:
  bool MoveOut(bool readable);
  bool MoveIn();

  const int fd_;
  const std::unique_ptr<ByteChannel> channel_;
  CopyBuffer out_;             // local → channel
  CopyBuffer in_;              // channel → local
  bool local_ended_ = false;   // the local side will send no more
  bool eof_sent_ = false;      // the channel was told so
  bool remote_ended_ = false;  // the far side will send no more
  bool shut_ = false;          // the local side was told so
  bool local_full_ = false;    // the local side takes nothing now
  bool done_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_BYTE_COPIER_H_
