// whet-worker serves the Worker service (proto/whetstone/v1/worker.proto) on one CPU host.
//
//   whet-worker serve --socket /run/whetstone/worker.sock
//   whet-worker bench
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/life_line.h"
#include "common/server.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "cpu_bench_worker/measure/calibration_cache.h"
#include "cpu_bench_worker/measure/measure.h"
#include "cpu_bench_worker/measure/worker_bench.h"
#include "cpu_bench_worker/service/worker_service.h"

namespace whetstone {
namespace {

// This is long enough for a candidate that is being timed to end.
constexpr double kStopGraceSeconds = 5;

absl::Status Serve(const ListenOptions& listen, MeasurerOptions options) {
  options.aa_at_start = true;
  std::mutex mutex;
  absl::Status ended;
  options.broken = [&](const absl::Status& why) {
    const std::lock_guard<std::mutex> lock(mutex);
    ended = why;
    kill(getpid(), SIGTERM);
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<Measurer> measurer, Measurer::Create(options));
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string bin = std::filesystem::path(self).parent_path();
  const CalibrationCache calibrations(CalibrationCache::DefaultFolder(),
                                      {self, bin + "/whet-kernel", bin + "/whet-screener"});
  WorkerService service(measurer.get(), WHETSTONE_VERSION, &calibrations);
  ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server, RpcServer::Start(listen, &service));
  const v1::WorkerInfo info = measurer->Info();
  spdlog::info("whet-worker {} on {} ({}, {} cores): {} slots, {}", WHETSTONE_VERSION,
               server->port() == 0 ? listen.address : absl::StrCat("port ", server->port()),
               info.cpu_model(), info.cores(), info.slots(), info.isolation());
  spdlog::info("{} NUMA nodes; compilers on cores {} {}", info.numa_nodes(),
               absl::StrJoin(info.build_cores(), ","),
               info.build_apart() ? "of their own" : "that slots use too, never while one times");
  if (info.slot_cores_size() == 1)
    spdlog::warn("only one core: timer and kernel share it, so speedups are coarse");
  if (info.slots() > info.slots_apart_max())
    spdlog::warn("kernels share physical cores with timers, so speedups are coarse; {}",
                 info.slots_apart_max() == 0
                     ? "give the worker another physical core on the same NUMA node"
                     : absl::StrCat("--slots ", info.slots_apart_max(), " keeps them apart"));
  server->ServeUntilSignal(kStopGraceSeconds);
  spdlog::info("whet-worker stopped");
  const std::lock_guard<std::mutex> lock(mutex);
  return ended;
}

absl::Status Bench(const MeasurerOptions& options, int repeats) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Measurer> measurer, Measurer::Create(options));
  ASSIGN_OR_RETURN(const std::vector<BenchKind> kinds, BenchVerdicts(measurer.get(), repeats));
  std::cout << BenchTable(kinds);
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::BlockStopSignals();
  spdlog::set_default_logger(spdlog::stderr_logger_mt("worker"));
  CLI::App app(
      "Whetstone's measuring service: compiles, checks and times candidates in a sandbox.");
  app.set_version_flag("--version", whetstone::kVersionText);
  app.require_subcommand(1);
  CLI::App* serve = app.add_subcommand("serve", "Serve until SIGINT or SIGTERM");
  whetstone::ListenOptions listen;
  whetstone::MeasurerOptions options;
  std::string socket;
  int life_line_fd = -1;
  auto* socket_option =
      serve->add_option("--socket", socket, "Unix socket to serve on (mode 0600)");
  auto* listen_option = serve->add_option("--listen", listen.address,
                                          "Loopback address and port instead, with --token-file");
  socket_option->excludes(listen_option);
  serve->add_option("--token-file", listen.token_file, "File with the bearer token of --listen");
  serve->add_option("--group", listen.group, "Group that may use the socket too (mode 0660)");
  serve
      ->add_option(
          "--slots", options.slots,
          "Candidates timed at once; default: as many as there are physical cores for, less a "
          "quarter of a large host's for compilers")
      ->check(CLI::NonNegativeNumber);
  serve->add_option("--cores", options.cores, "Cores to use, as 0,1,4; default: all allowed ones")
      ->delimiter(',');
  serve->add_option("--life-line-fd", life_line_fd,
                    "Inherited pipe; the service ends when its other end closes");
  CLI::App* bench =
      app.add_subcommand("bench", "Measure candidates of four kinds and print where the time goes");
  int repeats = 20;
  bench->add_option("--repeats", repeats, "Candidates of each kind")->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (bench->parsed()) {
    const absl::Status status = whetstone::Bench(options, repeats);
    if (!status.ok()) std::cerr << "whet-worker: " << status.message() << "\n";
    return status.ok() ? 0 : 3;
  }
  if (socket.empty() && listen.address.empty()) {
    std::cerr << "whet-worker serve: give --socket PATH or --listen 127.0.0.1:PORT\n";
    return 2;
  }
  if (!socket.empty()) listen.address = absl::StrCat("unix:", socket);
  whetstone::HoldLifeLine(life_line_fd);
  const absl::Status status = whetstone::Serve(listen, options);
  if (status.ok()) return 0;
  std::cerr << "whet-worker: " << status.message() << "\n";
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 3;
}
