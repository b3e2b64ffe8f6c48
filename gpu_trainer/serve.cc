#include "gpu_trainer/serve.h"

#include <spdlog/spdlog.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/life_line.h"
#include "common/server.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/rpc/rpc_boundary.h"
#include "gpu_trainer/rpc/trainer_service.h"

namespace whetstone {
namespace {

// Calls in progress when the stop signal comes get this long; whoever started us sends SIGKILL
// after 5 s.
constexpr double kGraceSeconds = 1.5;

struct ServeFlags {
  std::string socket;
  ListenOptions listen;
  std::string model;
  std::string device = "auto";
  std::string dtype = "bf16";
  int threads = 0;
  int life_line_fd = -1;
};

absl::StatusOr<TrainerOptions> ParseOptions(const ServeFlags& flags) {
  TrainerOptions options;
  options.threads = flags.threads;
  const absl::StatusOr<torch::ScalarType> dtype = ParseComputeType(flags.dtype);
  if (!dtype.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--dtype: ", dtype.status().message()));
  }
  options.dtype = *dtype;
  const bool has_cuda = torch::cuda::is_available();
  if (flags.device == "cuda" && !has_cuda) {
    return absl::InvalidArgumentError(
        "--device is 'cuda' but this process sees no usable CUDA device; use cpu or auto");
  }
  if (flags.device != "cpu" && flags.device != "cuda" && flags.device != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--device is '", flags.device, "'; valid: auto, cpu, cuda"));
  }
  if (flags.device != "cpu" && has_cuda) options.device = torch::Device(torch::kCUDA, 0);
  return options;
}

absl::Status Serve(ServeFlags flags) {
  if (flags.socket.empty() == flags.listen.address.empty()) {
    return absl::InvalidArgumentError("give either --socket PATH or --listen ADDRESS");
  }
  if (!flags.socket.empty()) flags.listen.address = absl::StrCat("unix:", flags.socket);
  ASSIGN_OR_RETURN(const TrainerOptions options, ParseOptions(flags));
  auto service = std::make_unique<TrainerService>(options);
  if (!flags.model.empty()) {
    v1::LoadCheckpointRequest request;
    request.set_path(flags.model);
    RETURN_IF_ERROR(service->Load(request));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<RpcServer> server,
                   RpcServer::Start(flags.listen, service.get()));
  spdlog::info("whet-trainer serves on {}", flags.listen.address);
  server->ServeUntilSignal(kGraceSeconds);
  server.reset();
  // An update can not be interrupted and its result would go nowhere: what must last is in the
  // checkpoints. A checkpoint being written is finished.
  const std::string busy = service->Busy();
  if (!busy.empty() && busy != "SaveCheckpoint") {
    spdlog::info("stopping during {}", busy);
    std::fflush(nullptr);
    _exit(0);
  }
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
      ->add_option("--dtype", flags->dtype,
                   "Compute type: bf16, fp32, or fp16, which is for GPUs and slow on a CPU")
      ->capture_default_str();
  serve->add_option("--threads", flags->threads, "CPU threads; 0: one for each core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  serve->add_option("--life-line-fd", flags->life_line_fd,
                    "Read end of a pipe: the process ends when it closes");
  serve->callback([flags, exit_code] {
    BlockStopSignals();
    HoldLifeLine(flags->life_line_fd);
    const absl::Status status = Guarded("serve", [&flags] { return Serve(*flags); });
    if (status.ok()) return;
    std::fprintf(stderr, "whet-trainer: %s\n", std::string(status.message()).c_str());
    *exit_code = absl::IsInternal(status) || absl::IsResourceExhausted(status) ? 3 : 2;
  });
}

}  // namespace whetstone
