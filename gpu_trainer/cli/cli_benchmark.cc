#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/profile/report.h"

namespace whetstone {
namespace {

struct BenchmarkOptions {
  ComputeOptions compute;
  double seconds = 10;
};

// Measures sums over the ranks, of several sizes: the time of the best, and what each link carries
// ("bus": a ring moves 2 (n - 1) / n of the bytes over every link).
absl::StatusOr<nlohmann::ordered_json> MeasureAllReduce(torch::Device device, RankGroup& ranks) {
  constexpr int kRounds = 6;
  const double ring = 2.0 * (ranks.size() - 1) / ranks.size();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const int64_t kib : {64, 1024, 16 << 10, 128 << 10}) {
    const torch::Tensor tensor =
        torch::zeros({kib * 256}, torch::dtype(torch::kFloat).device(device));
    double shortest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRounds; ++i) {
      RETURN_IF_ERROR(ranks.AllGather("the start", "").status());
      const auto start = std::chrono::steady_clock::now();
      RETURN_IF_ERROR(ranks.AllReduce("an all-reduce", {tensor}));
      shortest =
          std::min(shortest,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    rows.push_back({{"kib", kib},
                    {"ms", 1e3 * shortest},
                    {"bus_gb_per_s", 1e-9 * ring * 1024 * static_cast<double>(kib) / shortest}});
  }
  return rows;
}

absl::Status Benchmark(BenchmarkOptions options) {
  ASSIGN_OR_RETURN(const RankPlace place, RankPlaceFromEnvironment());
  if (options.compute.threads == 0) options.compute.threads = DefaultThreads(place);
  ASSIGN_OR_RETURN(const torch::Device device, ApplyComputeOptions(options.compute, place));
  ASSIGN_OR_RETURN(const std::unique_ptr<RankGroup> ranks, RankGroup::Join(place, {}));
  nlohmann::ordered_json report = MachineJson(MeasureMachine(device, options.seconds));
  if (!ranks->alone()) {
    report["ranks"] = ranks->size();
    ASSIGN_OR_RETURN(report["all_reduce"], MeasureAllReduce(device, *ranks));
  }
  if (ranks->rank() == 0) PrintLine(report);
  return absl::OkStatus();
}

}  // namespace

void AddBenchmarkCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<BenchmarkOptions>();
  CLI::App* command = app.add_subcommand(
      "benchmark",
      "What this machine can do: matrix products, reading memory, operator overhead; launched "
      "as several ranks, sums over them");
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
