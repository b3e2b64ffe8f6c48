// Measures the tunnel beside none and beside OpenSSH's `ssh -L`, in turns, through a real sshd on
// loopback: bytes a second each way over one stream, and the time of a small call (GetInfo of a
// whet-worker).
//
//   tunnel_bench [--rounds 7] [--mib 256] [--calls 300]
//
// Prints one JSON line: for each path the median over the rounds, and the median of each round's
// ratio (bytes) or difference (calls) of the tunnel to the others.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"
#include "coordinator/rpc/worker_client.h"
#include "coordinator/services/health.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/tunnel.h"
#include "cpu_bench_worker/stats/statistics.h"
#include "tests/system/sshd_fixture.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  int rounds = 7;
  int mib = 256;
  int calls = 300;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void SendMib(int fd, int mib) {
  const std::vector<char> block(256 << 10, 'b');
  for (int i = 0; i < 4 * mib; ++i) {
    for (size_t sent = 0; sent < block.size();) {
      const ssize_t n = send(fd, block.data() + sent, block.size() - sent, MSG_NOSIGNAL);
      CHECK(n > 0);
      sent += static_cast<size_t>(n);
    }
  }
  shutdown(fd, SHUT_WR);
}

// Receives until the other side ends; returns how much came.
int64_t ReceiveAll(int fd) {
  std::vector<char> block(256 << 10);
  int64_t bytes = 0;
  for (ssize_t n; (n = recv(fd, block.data(), block.size(), 0)) > 0;) bytes += n;
  return bytes;
}

// Source is the far end: a first byte 'd' asks it for bytes, 'u' announces some, which it counts.
class Source {
 public:
  Source(const std::string& path, int mib) : mib_(mib), listener_(*ListenUnix(path)) {
    thread_ = std::thread([this] { Serve(); });
  }
  ~Source() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Serve() {
    while (!stop_) {
      pollfd p = {listener_.get(), POLLIN, 0};
      if (poll(&p, 1, 20) <= 0) continue;
      const UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char kind = 0;
      // A connection that sends nothing is the tunnel's own trial.
      if (!fd || recv(fd.get(), &kind, 1, 0) != 1) continue;
      if (kind == 'd') {
        SendMib(fd.get(), mib_);
        ReceiveAll(fd.get());
      } else {
        const int64_t bytes = ReceiveAll(fd.get());
        send(fd.get(), &bytes, sizeof(bytes), MSG_NOSIGNAL);
      }
    }
  }

  const int mib_;
  const UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

double DownloadMibPerS(const std::string& socket, int mib) {
  const UniqueFd fd = *ConnectUnix(socket);
  const Clock::time_point start = Clock::now();
  CHECK(send(fd.get(), "d", 1, MSG_NOSIGNAL) == 1);
  CHECK(ReceiveAll(fd.get()) == int64_t{mib} << 20);
  return mib / SecondsSince(start);
}

double UploadMibPerS(const std::string& socket, int mib) {
  const UniqueFd fd = *ConnectUnix(socket);
  const Clock::time_point start = Clock::now();
  CHECK(send(fd.get(), "u", 1, MSG_NOSIGNAL) == 1);
  SendMib(fd.get(), mib);
  int64_t bytes = 0;
  CHECK(recv(fd.get(), &bytes, sizeof(bytes), MSG_WAITALL) == sizeof(bytes));
  CHECK(bytes == int64_t{mib} << 20);
  return mib / SecondsSince(start);
}

double CallMs(WorkerClient* worker, int calls) {
  std::vector<double> took;
  for (int i = 0; i < calls; ++i) {
    const Clock::time_point start = Clock::now();
    CHECK(worker->GetInfo({std::chrono::seconds(10)}).ok());
    took.push_back(1e3 * SecondsSince(start));
  }
  return Median(took);
}

struct Path {
  const char* name;
  std::string bytes;  // This local socket leads to the Source.
  std::string calls;  // This one leads to the worker.
  std::unique_ptr<Tunnel> bytes_tunnel;
  std::unique_ptr<Tunnel> calls_tunnel;
};

using OpenFunction = absl::StatusOr<std::unique_ptr<Tunnel>> (*)(const TunnelOptions&);

absl::StatusOr<Path> Through(const char* name, OpenFunction open, const PrivateSshd& sshd,
                             const std::string& folder) {
  Path path = {name, folder + "/" + name + "-b", folder + "/" + name + "-c", nullptr, nullptr};
  TunnelOptions options;
  options.host = "here";
  options.ssh_config = sshd.ssh_config();
  options.remote_socket = folder + "/source";
  options.local_socket = path.bytes;
  ASSIGN_OR_RETURN(path.bytes_tunnel, open(options));
  options.remote_socket = folder + "/worker";
  options.local_socket = path.calls;
  ASSIGN_OR_RETURN(path.calls_tunnel, open(options));
  return path;
}

absl::Status Measure(const Flags& flags) {
  ASSIGN_OR_RETURN(const TempDir folder, TempDir::Make("bench"));
  ASSIGN_OR_RETURN(const std::unique_ptr<PrivateSshd> sshd, PrivateSshd::Start());
  const Source source(folder.path() + "/source", flags.mib);
  ChildOptions worker;
  worker.argv = {ProgramDirectory() + "/whet-worker", "serve", "--listen",
                 "unix:" + folder.path() + "/worker"};
  worker.log_path = folder.path() + "/worker.log";
  worker.life_line = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(worker));
  RETURN_IF_ERROR(CheckServing("unix:" + folder.path() + "/worker", std::chrono::seconds(60)));

  std::vector<Path> paths(1);
  paths[0] = {"none", folder.path() + "/source", folder.path() + "/worker", nullptr, nullptr};
  ASSIGN_OR_RETURN(Path libssh, Through("libssh", OpenLibsshTunnel, *sshd, folder.path()));
  ASSIGN_OR_RETURN(Path ssh, Through("ssh", OpenSshProgramTunnel, *sshd, folder.path()));
  paths.push_back(std::move(libssh));
  paths.push_back(std::move(ssh));

  std::map<std::string, std::map<std::string, std::vector<double>>> all;
  for (int round = -1; round < flags.rounds; ++round) {  // The first one warms up.
    std::map<std::string, std::map<std::string, double>> now;
    for (const Path& path : paths) {
      now["download_mib_s"][path.name] = DownloadMibPerS(path.bytes, flags.mib);
      now["upload_mib_s"][path.name] = UploadMibPerS(path.bytes, flags.mib);
      const std::unique_ptr<WorkerClient> client = MakeGrpcWorkerClient("unix:" + path.calls);
      CallMs(client.get(), 20);
      now["call_ms"][path.name] = CallMs(client.get(), flags.calls);
    }
    if (round < 0) continue;
    for (auto& [what, figures] : now) {
      const bool call = what == "call_ms";
      const auto beside = [&](const char* other) {
        return call ? figures["libssh"] - figures[other] : figures["libssh"] / figures[other];
      };
      const double to_ssh = beside("ssh"), to_none = beside("none");
      for (const auto& [path, figure] : figures) all[what][path].push_back(figure);
      all[what]["beside_ssh"].push_back(to_ssh);
      all[what]["beside_none"].push_back(to_none);
    }
  }
  nlohmann::ordered_json result;
  for (const auto& [what, figures] : all) {
    for (const auto& [path, values] : figures) result[what][path] = Median(values);
  }
  std::printf("%s\n", result.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  CLI::App app("The tunnel beside none and beside ssh -L, through an sshd on loopback.");
  whetstone::Flags flags;
  app.add_option("--rounds", flags.rounds, "Rounds")->check(CLI::PositiveNumber);
  app.add_option("--mib", flags.mib, "MiB of a transfer")->check(CLI::Range(1, 1 << 14));
  app.add_option("--calls", flags.calls, "Calls of a round")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Measure(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "tunnel_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
