#include <ATen/Parallel.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <torch/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/life_line.h"
#include "common/server.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/process/rank_watch.h"
#include "gpu_trainer/rpc/distributed_trainer.h"
#include "gpu_trainer/rpc/rpc_boundary.h"
#include "gpu_trainer/rpc/trainer_service.h"

namespace whetstone {
namespace {

// Calls in progress get so long when the stop signal comes; whoever started us sends SIGKILL after
// 5 s.
constexpr double kGraceSeconds = 1.5;

struct ServeFlags {
  std::string socket;
  ListenOptions listen;
  std::string model;
  std::string device = "auto";
  std::string dtype = "auto";
  int threads = 0;
  double rank_timeout_s = 600;
  double join_timeout_s = 120;
  int life_line_fd = -1;
};

absl::StatusOr<TrainerOptions> ParseOptions(const ServeFlags& flags, const RankPlace& place) {
  TrainerOptions options;
  options.threads = flags.threads > 0 ? flags.threads : DefaultThreads(place);
  // A wrong name is named before a device is opened.
  const absl::StatusOr<torch::ScalarType> dtype = ChooseComputeType(flags.dtype, torch::kCPU);
  if (!dtype.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--dtype: ", dtype.status().message()));
  }
  ASSIGN_OR_RETURN(DeviceChoice choice, OpenDevice(flags.device, place));
  options.device = choice.device;
  ASSIGN_OR_RETURN(options.dtype, ChooseComputeType(flags.dtype, options.device));
  options.unused_gpu = std::move(choice.unused_gpu);
  if (!options.unused_gpu.empty()) spdlog::warn("the CPU computes: {}", options.unused_gpu);
  return options;
}

// Meets the other ranks, who must run the same program in the same way.
absl::StatusOr<std::unique_ptr<RankGroup>> JoinRanks(const RankPlace& place,
                                                     const TrainerOptions& options,
                                                     const ServeFlags& flags) {
  const auto from_seconds = [](double s) {
    return std::chrono::milliseconds(static_cast<int64_t>(1e3 * s));
  };
  RankOptions rank_options;
  rank_options.join_deadline = from_seconds(flags.join_timeout_s);
  rank_options.work_deadline = from_seconds(flags.rank_timeout_s);
  ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> ranks, RankGroup::Join(place, rank_options));
  if (ranks->alone()) return ranks;
  spdlog::set_pattern(absl::StrCat("[%Y-%m-%d %H:%M:%S.%e] [rank ", place.rank, "] [%l] %v"));
  ASSIGN_OR_RETURN(const std::string build, Sha256HexOfFile("/proc/self/exe"));
  RETURN_IF_ERROR(ranks->CheckEqual(
      {{"build", absl::StrCat("whet-trainer of SHA-256 ", build)},
       {"--dtype", ComputeTypeName(options.dtype)},
       {"--device", c10::DeviceTypeName(options.device.type(), /*lower_case=*/true)}}));
  spdlog::info("rank {} of {}, {} threads", place.rank, place.world_size, options.threads);
  return ranks;
}

// Ends this process because a rank is gone, without destructors: they would wait for it.
[[noreturn]] void EndWithout(const absl::Status& broken) {
  std::fprintf(stderr, "whet-trainer: %s\n", std::string(broken.message()).c_str());
  std::fflush(nullptr);
  _exit(3);
}

bool StopWasAsked() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

// Runs a rank above 0, which does what rank 0 says, to the end. It leaves the answer to stop
// signals to rank 0, which gets them too.
absl::Status Follow(const TrainerOptions& options, RankGroup& ranks) {
  at::set_num_threads(options.threads);
  DistributedTrainer trainer(options.device, options.dtype, ranks);
  const absl::Status status = trainer.Follow();
  if (status.ok()) return status;
  if (StopWasAsked()) _exit(0);  // Rank 0 has left in the middle of something.
  EndWithout(status);
}

absl::Status Serve(ServeFlags flags) {
  if (flags.socket.empty() == flags.listen.address.empty()) {
    return absl::InvalidArgumentError("give either --socket PATH or --listen ADDRESS");
  }
  if (!flags.socket.empty()) flags.listen.address = absl::StrCat("unix:", flags.socket);
  ASSIGN_OR_RETURN(const RankPlace place, RankPlaceFromEnvironment());
  ASSIGN_OR_RETURN(TrainerOptions options, ParseOptions(flags, place));
  ASSIGN_OR_RETURN(const std::unique_ptr<RankGroup> ranks, JoinRanks(place, options, flags));
  if (place.rank > 0) return Follow(options, *ranks);
  options.ranks = ranks.get();
  auto service = std::make_unique<TrainerService>(options);
  if (!flags.model.empty()) {
    v1::LoadCheckpointRequest request;
    request.set_path(flags.model);
    RETURN_IF_ERROR(service->Load(request));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<RpcServer> server,
                   RpcServer::Start(flags.listen, service.get()));
  spdlog::info("whet-trainer serves on {}", flags.listen.address);
  {
    const RankWatch watch(*ranks, [&service] { return service->Busy(); });
    server->ServeUntilSignal(kGraceSeconds);
  }
  server.reset();
  if (!ranks->broken().ok()) EndWithout(ranks->broken());
  // An update can not be interrupted and its result would go nowhere: what must last is in the
  // checkpoints. A checkpoint being written is finished.
  const std::string busy = service->Busy();
  if (!busy.empty() && busy != "SaveCheckpoint") {
    spdlog::info("stopping during {}", busy);
    std::fflush(nullptr);
    _exit(0);
  }
  service->Stop();
  return absl::OkStatus();
}

}  // namespace

void AddServeCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* serve = app.add_subcommand("serve", "Serve one policy to a coordinator");
  serve->add_option("--socket", flags->socket, "Unix socket to listen on");
  serve->add_option("--listen", flags->listen.address, "unix:/PATH, 127.0.0.1:PORT or [::1]:PORT");
  serve->add_option("--token-file", flags->listen.token_file,
                    "File (mode 0600) with the bearer token that TCP needs");
  serve->add_option("--group", flags->listen.group, "Group that may use the socket (mode 0660)");
  serve->add_option("--model", flags->model, "Hugging Face directory to load at once");
  serve->add_option("--device", flags->device, "auto, cpu or cuda")->capture_default_str();
  serve
      ->add_option(
          "--dtype", flags->dtype,
          "Compute type: bf16, fp32, or fp16, which is for GPUs and slow on a CPU; auto: bf16, or "
          "fp32 on a processor without AVX-512")
      ->capture_default_str();
  serve
      ->add_option("--threads", flags->threads,
                   "CPU threads; 0: one for each core, shared with the other ranks of this host")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  serve
      ->add_option("--rank-timeout", flags->rank_timeout_s,
                   "Seconds that the ranks of a job wait for one that lives but does no work")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  serve
      ->add_option("--join-timeout", flags->join_timeout_s,
                   "Seconds that the ranks of a job may take to find each other")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  serve->add_option("--life-line-fd", flags->life_line_fd,
                    "Read end of a pipe: the process ends when it closes");
  serve->callback([flags, exit_code] {
    BlockStopSignals();
    HoldLifeLine(flags->life_line_fd);
    const absl::Status status = Guarded("serve", [&flags] { return Serve(*flags); });
    if (status.ok()) return;
    std::fprintf(stderr, "whet-trainer: %s\n", std::string(status.message()).c_str());
    const bool ours = absl::IsInternal(status) || absl::IsResourceExhausted(status) ||
                      absl::IsUnavailable(status);
    *exit_code = ours ? 3 : 2;
  });
}

}  // namespace whetstone
