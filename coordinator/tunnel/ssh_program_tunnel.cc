// The `ssh` program makes this tunnel: everything a site's ssh_config can say works, at the price
// of a process per host and twice the round trip time. Errors are told apart by what ssh prints.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/ssh_program_status.h"
#include "coordinator/tunnel/ssh_target.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{20};
// ssh may miss a SIGTERM that comes while it works, until its next keepalive; it has nothing to
// lose.
constexpr milliseconds kStopGrace{300};
// A stream that the far side refuses is closed within a round trip, of which connecting took
// several; ssh says nothing on success.
constexpr milliseconds kRefusalMin{300};

int64_t Seconds(milliseconds time) { return std::max<int64_t>(1, (time.count() + 999) / 1000); }

std::vector<std::string> Command(const TunnelOptions& options, const SshTarget& target) {
  std::vector<std::string> argv = {"ssh", "-N", "-T"};
  if (!options.ssh_config.empty()) {
    argv.insert(argv.end(), {"-F", ExpandHome(options.ssh_config)});
  }
  if (!target.user.empty()) argv.insert(argv.end(), {"-l", target.user});
  if (target.port != 0) argv.insert(argv.end(), {"-p", absl::StrCat(target.port)});
  for (const std::string& option : {
           std::string("BatchMode=yes"),
           std::string("StrictHostKeyChecking=yes"),
           std::string("UpdateHostKeys=no"),
           std::string("ExitOnForwardFailure=yes"),
           std::string("StreamLocalBindUnlink=yes"),
           std::string("StreamLocalBindMask=0177"),
           std::string("ControlMaster=no"),
           std::string("ControlPath=none"),
           absl::StrCat("ConnectTimeout=", Seconds(options.connect_deadline)),
           absl::StrCat("ServerAliveInterval=", Seconds(options.keepalive_interval)),
           // After the last unanswered question ssh waits for one interval more.
           absl::StrCat("ServerAliveCountMax=",
                        std::max<int64_t>(1, options.dead_after / options.keepalive_interval - 1)),
           // Errors are told apart by what ssh says.
           std::string("LogLevel=INFO"),
       }) {
    argv.insert(argv.end(), {"-o", option});
  }
  argv.insert(argv.end(), {"-L", absl::StrCat(options.local_socket, ":", options.remote_socket),
                           "--", target.host});
  return argv;
}

absl::Status StatusFromWords(const std::string& said, const TunnelOptions& options) {
  return StatusFromSshProgram(said, options.host, options);
}

class SshProgramTunnel final : public Tunnel {
 public:
  SshProgramTunnel(TunnelOptions options, SshTarget target, TempDir dir)
      : options_(std::move(options)), argv_(Command(options_, target)), dir_(std::move(dir)) {}

  ~SshProgramTunnel() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    unlink(options_.local_socket.c_str());
  }

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
  void Run() {
    const Clock::time_point start = Clock::now();
    absl::StatusOr<UniqueFd> stream = Connect();
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    absl::Status first = stream.status();
    if (first.ok()) first = Probe(*std::move(stream), std::max(took, kRefusalMin));
    const bool opened = first.ok();
    SetStatus(first);
    if (!opened) End();
    opened_.set_value(std::move(first));
    if (!opened) return;
    Backoff backoff;
    while (!stop_) {
      if (child_ != nullptr) {
        backoff.Reset();
        while (!stop_ && !child_->Ended().has_value()) std::this_thread::sleep_for(kPoll);
        const absl::Status lost = StatusFromWords(LastLines(Log(), 3), options_);
        End();
        if (stop_) return;
        Report(TunnelEvent::State::kLost, absl::UnavailableError(lost.message()));
      }
      SleepUnlessStopped(backoff.Next());
      if (stop_) return;
      const absl::Status status = Connect().status();
      if (status.ok()) {
        Report(TunnelEvent::State::kConnected, absl::OkStatus());
      } else if (IsPermanent(Operation::kConnect, status)) {
        End();
        Report(TunnelEvent::State::kFailed, status);
        return;
      } else {
        End();
        SetStatus(absl::UnavailableError(status.message()));
      }
    }
    End();
  }

  // Starts ssh, and returns a first stream: ssh makes the local socket once it is connected and
  // authenticated, and listens on it a moment later.
  absl::StatusOr<UniqueFd> Connect() {
    unlink(Log().c_str());
    unlink(options_.local_socket.c_str());
    ChildOptions child;
    child.argv = argv_;
    child.log_path = Log();
    absl::StatusOr<std::unique_ptr<ChildProcess>> started = ChildProcess::Start(child);
    if (absl::IsNotFound(started.status())) {
      return absl::NotFoundError(
          "there is no `ssh` program in PATH, which cluster.tunnel: ssh needs; install OpenSSH's "
          "client (apt-get install openssh-client) or set cluster.tunnel: libssh in the campaign");
    }
    RETURN_IF_ERROR(started.status());
    child_ = *std::move(started);
    const Clock::time_point deadline = Clock::now() + options_.connect_deadline;
    while (true) {
      absl::StatusOr<UniqueFd> stream = ConnectUnix(options_.local_socket);
      if (!absl::IsUnavailable(stream.status())) return stream;
      if (child_->Ended().has_value()) return StatusFromWords(LastLines(Log(), 20), options_);
      if (stop_) return absl::CancelledError("stopped");
      if (Clock::now() > deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat("no answer from ", options_.host, " within ",
                         Seconds(options_.connect_deadline), " s: the host is down or hangs"));
      }
      std::this_thread::sleep_for(kPoll);
    }
  }

  void End() {
    if (child_ != nullptr) child_->Stop(kStopGrace);
    child_.reset();
  }

  // Tells a missing service from a missing host by whether `stream`, which it closes, is refused.
  absl::Status Probe(UniqueFd stream, milliseconds refusal_max) const {
    pollfd p = {stream.get(), POLLIN, 0};
    char byte;
    if (poll(&p, 1, static_cast<int>(refusal_max.count())) == 1 &&
        recv(stream.get(), &byte, 1, 0) <= 0) {
      return absl::UnavailableError(absl::StrCat(
          "nothing answers on ", options_.remote_socket, " at ", options_.host,
          ": start the service there, or correct `socket` in the campaign; the account needs read "
          "and write permission on the socket, and its sshd AllowStreamLocalForwarding. ssh said: ",
          LastLines(Log(), 3)));
    }
    return absl::OkStatus();
  }

  std::string Log() const { return dir_.path() + "/ssh.log"; }

  void SleepUnlessStopped(milliseconds time) {
    const Clock::time_point end = Clock::now() + time;
    while (!stop_ && Clock::now() < end) std::this_thread::sleep_for(kPoll);
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
  const std::vector<std::string> argv_;
  const TempDir dir_;
  std::atomic<bool> stop_{false};
  std::promise<absl::Status> opened_;
  std::thread thread_;
  std::unique_ptr<ChildProcess> child_;  // the thread alone uses it
  mutable std::mutex mutex_;
  absl::Status status_;  // mutex_ protects it
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tunnel>> OpenSshProgramTunnel(const TunnelOptions& options) {
  ASSIGN_OR_RETURN(SshTarget target, ParseSshTarget(options.host));
  RETURN_IF_ERROR(ParseRemoteEnd(options.remote_socket).status());
  const std::string config = ExpandHome(options.ssh_config);
  if (!config.empty() && access(config.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the ssh_config ", config,
                                                   ": correct cluster.ssh_config in the campaign"));
  }
  if (access(options.local_socket.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen on ", options.local_socket, ": it is in use or left over"));
  }
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("whet"));
  auto tunnel = std::make_unique<SshProgramTunnel>(options, std::move(target), std::move(dir));
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
