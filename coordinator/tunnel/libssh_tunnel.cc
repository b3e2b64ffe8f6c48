// One thread owns the session and everything that uses it. It sleeps in one poll over: the wake
// descriptor, the SSH connection, the local listening socket and every local stream. libssh may
// hold bytes that poll cannot see, so a round ends only when a pass over all copiers made nothing
// new arrive.
//
// libssh 0.10's own ssh_connector is not used: it reads 4,096 bytes and then forgets that more is
// waiting, so longer replies stall. When a later libssh does better, ByteCopier may go.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "coordinator/tunnel/byte_copier.h"
#include "coordinator/tunnel/libssh_channel.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/ssh_session.h"
#include "coordinator/tunnel/ssh_target.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// So many streams are open at once; further ones stay in the listening socket's queue.
constexpr size_t kStreamsMax = 512;

// A Stream is a local connection, which waits for its channel and then copies.
struct Stream {
  // `fd` and `channel` are here until the copier owns them.
  UniqueFd fd;
  std::unique_ptr<LibsshChannel> channel;
  Clock::time_point open_deadline;
  std::unique_ptr<ByteCopier> copier;
};

class LibsshTunnel final : public Tunnel {
 public:
  LibsshTunnel(TunnelOptions options, RemoteEnd remote, UniqueFd listener)
      : options_(std::move(options)), remote_(std::move(remote)), listener_(std::move(listener)) {}

  ~LibsshTunnel() override {
    stop_ = true;
    wake_.Wake();
    if (thread_.joinable()) thread_.join();
    unlink(options_.local_socket.c_str());
  }

  // Starts the thread; the future tells how the first connection went.
  std::future<absl::Status> Start() {
    std::future<absl::Status> opened = opened_.get_future();
    thread_ = std::thread([this] { Run(); });
    return opened;
  }

  absl::Status status() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return status_;
  }

 private:
  bool Stopped() const { return stop_; }

  void Run() {
    absl::Status first = ConnectAndProbe();
    const bool opened = first.ok();
    SetStatus(first);
    opened_.set_value(std::move(first));
    if (!opened) return;
    Backoff backoff;
    while (!stop_) {
      if (session_ != nullptr) {
        backoff.Reset();
        const absl::Status lost = Serve();
        streams_.clear();  // channels belong to the session, so they go first
        if (!stop_) Report(TunnelEvent::State::kLost, lost);
        session_.reset();  // which may have to wait for a jump program's end
        if (stop_) return;
      }
      Refuse(backoff.Next());
      if (stop_) return;
      auto session = SshSession::Connect(options_, [this] { return Stopped(); });
      if (session.ok()) {
        session_ = *std::move(session);
        Report(TunnelEvent::State::kConnected, absl::OkStatus());
      } else if (IsPermanent(Operation::kConnect, session.status())) {
        Report(TunnelEvent::State::kFailed, session.status());
        while (!stop_) Refuse(Backoff::kMax);
      } else {
        SetStatus(absl::UnavailableError(session.status().message()));
      }
    }
  }

  absl::Status ConnectAndProbe() {
    ASSIGN_OR_RETURN(session_, SshSession::Connect(options_, [this] { return Stopped(); }));
    // One stream, opened and closed, tells a missing service from a missing host.
    absl::Status probe = Probe();
    if (!probe.ok()) session_.reset();
    return probe;
  }

  absl::Status Probe() {
    LibsshChannel channel(session_.get(), remote_);
    const Clock::time_point deadline = Clock::now() + options_.stream_deadline;
    while (true) {
      ASSIGN_OR_RETURN(const bool open, channel.TryOpen());
      if (open) return absl::OkStatus();
      if (stop_) return absl::CancelledError("stopped");
      if (Clock::now() > deadline) {
        return absl::DeadlineExceededError(absl::StrCat(
            "sshd at ", session_->where(), " does not answer the request to open a stream to ",
            options_.remote_socket, "; is the service behind it hanging?"));
      }
      pollfd fds[2] = {{wake_.fd(), POLLIN, 0}, {session_->fd(), session_->TakePollEvents(), 0}};
      poll(fds, 2, 50);
      RETURN_IF_ERROR(session_->HandlePackets());
    }
  }

  // Serves streams until the connection breaks (the status says why) or the tunnel stops.
  absl::Status Serve() {
    uint64_t received = session_->received_bytes();
    Clock::time_point last_sign = Clock::now();
    Clock::time_point last_keepalive = last_sign;
    bool again = false;
    std::vector<pollfd> fds;
    while (!stop_) {
      if (session_->fd() < 0) again = true;  // a call since the last look found it closed
      const bool room = streams_.size() < kStreamsMax;
      fds.assign({{wake_.fd(), POLLIN, 0},
                  {session_->fd(), session_->TakePollEvents(), 0},
                  {room ? listener_.get() : -1, POLLIN, 0}});
      for (const Stream& s : streams_) {
        const short events = s.copier ? s.copier->PollEvents() : short{0};
        fds.push_back({events != 0 ? s.copier->fd() : -1, events, 0});
      }
      poll(fds.data(), fds.size(), again ? 0 : TimeoutMs(last_sign, last_keepalive));
      if (fds[0].revents != 0) wake_.Drain();

      if (again || fds[1].revents != 0) RETURN_IF_ERROR(session_->HandlePackets());
      const uint64_t before_pass = session_->received_bytes();
      again = AdvanceStreams(fds);
      if (fds[2].revents != 0) Accept();
      // Any libssh call may have taken in packets: bytes for streams this pass has already left.
      if (session_->received_bytes() != before_pass) again = true;

      const Clock::time_point now = Clock::now();
      if (session_->received_bytes() != received) {
        received = session_->received_bytes();
        last_sign = now;
      }
      if (now - last_sign > options_.dead_after) {
        return absl::UnavailableError(absl::StrCat(
            "no sign of life from ", session_->where(), " for ",
            std::chrono::duration_cast<std::chrono::seconds>(now - last_sign).count(), " s"));
      }
      if (now - std::max(last_sign, last_keepalive) >= options_.keepalive_interval) {
        last_keepalive = now;
        session_->SendKeepalive();
      }
    }
    return absl::CancelledError("stopped");
  }

  // Gives each stream its turn; fds[3 + i] belongs to the i-th. Returns whether some stream wants
  // another turn at once.
  bool AdvanceStreams(const std::vector<pollfd>& fds) {
    bool again = false;
    size_t i = 3;
    for (auto s = streams_.begin(); s != streams_.end(); ++i) {
      if (s->copier == nullptr && !TryOpen(*s)) {
        s = streams_.erase(s);
        continue;
      }
      if (s->copier != nullptr) {
        const short revents = i < fds.size() ? fds[i].revents : short{0};
        if (s->copier->Advance(revents)) again = true;
        if (s->copier->done()) {
          s = streams_.erase(s);
          continue;
        }
      }
      ++s;
    }
    return again;
  }

  // Tries to open the stream's channel; returns false if this stream can't be had.
  bool TryOpen(Stream& stream) {
    const absl::StatusOr<bool> open = stream.channel->TryOpen();
    if (!open.ok()) return false;
    if (*open) {
      stream.copier = std::make_unique<ByteCopier>(stream.fd.release(), std::move(stream.channel));
      return true;
    }
    return Clock::now() < stream.open_deadline;
  }

  void Accept() {
    while (streams_.size() < kStreamsMax) {
      UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) return;
      Stream stream;
      stream.fd = std::move(fd);
      stream.channel = std::make_unique<LibsshChannel>(session_.get(), remote_);
      stream.open_deadline = Clock::now() + options_.stream_deadline;
      if (TryOpen(stream)) streams_.push_back(std::move(stream));
    }
  }

  int TimeoutMs(Clock::time_point last_sign, Clock::time_point last_keepalive) const {
    Clock::time_point next = std::max(last_sign, last_keepalive) + options_.keepalive_interval;
    next = std::min(next, last_sign + options_.dead_after);
    for (const Stream& s : streams_) {
      if (s.copier == nullptr) next = std::min(next, s.open_deadline);
    }
    const auto left = std::chrono::duration_cast<milliseconds>(next - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 60000));
  }

  // Closes whoever connects, at once, for `time`: there is no connection.
  void Refuse(milliseconds time) {
    const Clock::time_point end = Clock::now() + time;
    while (!stop_ && Clock::now() < end) {
      pollfd fds[2] = {{wake_.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      poll(fds, 2, static_cast<int>(std::max<int64_t>(left.count() + 1, 0)));
      while (UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC))) {
      }
    }
  }

  void SetStatus(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
  }

  void Report(TunnelEvent::State state, const absl::Status& status) {
    SetStatus(status);
    if (options_.on_event) options_.on_event({state, std::string(status.message())});
  }

  const TunnelOptions options_;
  const RemoteEnd remote_;
  const UniqueFd listener_;
  WakeFd wake_;
  std::atomic<bool> stop_{false};
  std::promise<absl::Status> opened_;
  std::thread thread_;

  // These are used by the thread alone.
  std::unique_ptr<SshSession> session_;
  std::list<Stream> streams_;

  mutable std::mutex mutex_;
  absl::Status status_;  // mutex_ protects it
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tunnel>> OpenLibsshTunnel(const TunnelOptions& options) {
  ASSIGN_OR_RETURN(RemoteEnd remote, ParseRemoteEnd(options.remote_socket));
  ASSIGN_OR_RETURN(UniqueFd listener, ListenUnix(options.local_socket));
  auto tunnel = std::make_unique<LibsshTunnel>(options, std::move(remote), std::move(listener));
  std::future<absl::Status> opened = tunnel->Start();
  while (opened.wait_for(milliseconds(50)) != std::future_status::ready) {
    if (options.cancelled && options.cancelled()) {
      return absl::CancelledError(absl::StrCat("stopped connecting to ", options.host));
    }
  }
  RETURN_IF_ERROR(opened.get());
  return std::unique_ptr<Tunnel>(std::move(tunnel));
}

}  // namespace whetstone
