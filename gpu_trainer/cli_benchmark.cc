#include "common/status_macros.h"
#include "gpu_trainer/cli_common.h"
#include "gpu_trainer/profile/report.h"

namespace whetstone {
namespace {

struct Options {
  ComputeOptions compute;
  double seconds = 10;
};

absl::Status Benchmark(const Options& options) {
  ASSIGN_OR_RETURN(const torch::Device device, ApplyComputeOptions(options.compute));
  PrintLine(MachineJson(MeasureMachine(device, options.seconds)));
  return absl::OkStatus();
}

}  // namespace

void AddBenchmarkCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "benchmark", "What this machine can do: matrix products, reading memory, operator overhead");
  command->add_option("--device", options->compute.device, "where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--threads", options->compute.threads, "CPU threads; 0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "about how long to measure")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command->callback([options, exit_code] { *exit_code = ExitCode(Benchmark(*options)); });
}

}  // namespace whetstone
