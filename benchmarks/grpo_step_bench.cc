// Times whole GRPO steps, generation and update, with a reward that costs nothing. The work and the
// output line are those of a TRL script of the same arguments, so that the two can be compared.
//
//   grpo_step_bench --model DIR [--prompts 2] [--group 8] [--new-tokens 128] [--steps 4]
//                   [--device cuda]
//
// Every completion is forced to --new-tokens tokens. Weights compute in --dtype; masters are fp32,
// moments are kept as --optimizer-state. Details of each step go to stderr, one JSON line to
// stdout: s_per_step is wall time over all steps, generation and update figures leave the first
// step out. update_matmul_share is the update's useful floating-point operations (a prompt once per
// group, no recomputation) a second, as a share of the best bf16 matmul measured in the same run.
// first_token_ms is the time from the end of an update to the first tokens of the policy that it
// made.
#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <torch/types.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/engine/runner/graph_runner.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/process/passive_threads.h"
#include "gpu_trainer/profile/device.h"
#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/profile/event_clock.h"
#include "gpu_trainer/profile/machine.h"
#include "gpu_trainer/profile/memory.h"
#include "gpu_trainer/profile/reuse_memory.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/synthetic/synthetic_step.h"
#include "gpu_trainer/tokenizer/tokenizer.h"
#include "gpu_trainer/train/learner/learner_settings.h"

namespace whetstone {
namespace {

struct Flags {
  std::string model;
  SyntheticWork work;
  int steps = 4;
  std::string dtype = "bfloat16";
  std::string optimizer_state = "fp32";
  std::string activation_checkpointing = "auto";
  std::string device = "cpu";
  int token_budget = 0;
  int threads = 0;
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Rounded(double x, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(x * scale) / scale;
}

// Counts all threads of this process: on a busy machine that tells more than wall time.
double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct StepTimes {
  double generate_s = 0, update_s = 0, first_token_s = 0;
  double update_flops = 0;
};

absl::StatusOr<StepTimes> RunStep(const Flags& flags, int step, const Tokenizer& tokenizer,
                                  Engine& engine, Learner& learner) {
  StepTimes times;
  double t = Now(), processor = ProcessorSeconds();
  const auto on_progress = [&](const GenerateStatus& status) {
    if (times.first_token_s == 0 && status.tokens > 0) times.first_token_s = Now() - t;
  };
  ASSIGN_OR_RETURN(const v1::GrpoBatch batch,
                   GenerateSyntheticBatch(flags.work, step, tokenizer, engine, on_progress));
  times.generate_s = Now() - t;
  const double generate_processor_s = ProcessorSeconds() - processor;
  t = Now(), processor = ProcessorSeconds();
  StepProfile profile;
  UpdateResult result;
  {
    const std::unique_ptr<DeviceClock> clock = MakeDeviceClock(torch::Device(flags.device));
    const ProfileCollection collecting(&profile, /*trace=*/nullptr, clock.get());
    ASSIGN_OR_RETURN(result, UpdateSynthetically(flags.work, batch, learner));
    WaitForDevice(torch::Device(flags.device));
  }
  times.update_s = Now() - t;
  times.update_flops = profile.flops();
  std::fprintf(stderr,
               "step %d: generate %.2f s (processor %.2f), update %.2f s (processor %.2f), entropy "
               "%.3f, grad_norm %.3f, importance ratio %.4f, |old - sampling| %.5f\n",
               step + 1, times.generate_s, generate_processor_s, times.update_s,
               ProcessorSeconds() - processor, result.metrics["entropy"],
               result.metrics["grad_norm"],
               result.metrics["sampling/importance_sampling_ratio/mean"],
               result.metrics["sampling/sampling_logp_difference/mean"]);
  for (int i = 0; i < kParts; ++i) {
    const PartUse& use = profile.of(static_cast<Part>(i));
    if (use.calls == 0 && use.seconds == 0) continue;
    std::fprintf(stderr, "  %-18s %7.3f s %7.0f GFLOP/s\n", NameOf(static_cast<Part>(i)),
                 use.seconds, 1e-9 * use.flops / use.seconds);
  }
  return times;
}

absl::Status Run(const Flags& flags) {
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  const torch::ScalarType dtype = flags.dtype == "bfloat16" ? torch::kBFloat16 : torch::kFloat;
  ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig(flags.model));
  const torch::Device device(flags.device == "cuda" ? "cuda:0" : "cpu");
  UseDevice(device);
  ASSIGN_OR_RETURN(Weights weights, LoadWeights(flags.model, config, dtype, device));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(flags.model));
  Engine engine(config, weights, *tokenizer);
  v1::LearnerSettings settings;
  settings.set_optimizer_state(flags.optimizer_state);
  settings.set_activation_checkpointing(flags.activation_checkpointing);
  settings.set_token_budget(flags.token_budget);
  ASSIGN_OR_RETURN(const LearnerOptions options, ParseLearnerSettings(settings, device));
  Learner learner(config, weights, options);

  const double start = Now();
  StepTimes sum;
  int counted = 0;
  for (int step = 0; step < flags.steps; ++step) {
    ASSIGN_OR_RETURN(const StepTimes times, RunStep(flags, step, *tokenizer, engine, learner));
    if (step == 0 && flags.steps > 1) continue;
    sum.generate_s += times.generate_s;
    sum.update_s += times.update_s;
    sum.first_token_s += times.first_token_s;
    sum.update_flops += times.update_flops;
    ++counted;
  }
  const double wall = Now() - start;
  const double generate = sum.generate_s / counted, update = sum.update_s / counted;
  // The peak is taken before the machine is measured, which takes memory too.
  const double peak_gpu_gib =
      device.is_cuda() ? static_cast<double>(PeakGpuBytes(device)) / (1 << 30) : 0;
  const double peak_gib = static_cast<double>(PeakMemoryBytes()) / (1 << 30);
  const double matmul = MeasureMachine(device, /*seconds=*/8).BestGflops("bf16");
  const double update_gflops = 1e-9 * sum.update_flops / sum.update_s;
  const int sequences = flags.work.prompts * flags.work.group;
  nlohmann::ordered_json line = {
      {"peer", "whetstone"},
      {"model", flags.model},
      {"device", flags.device},
      {"dtype", flags.dtype},
      {"threads", at::get_num_threads()},
      {"sequences", sequences},
      {"prompt_tokens", flags.work.prompt_tokens},
      {"new_tokens", flags.work.new_tokens},
      {"s_per_step", Rounded(wall / flags.steps, 3)},
      {"generate_s", Rounded(generate, 3)},
      {"generate_tok_s", Rounded(sequences * flags.work.new_tokens / generate, 1)},
      {"peak_rss_gib", Rounded(peak_gib, 2)},
      {"optimizer_state", flags.optimizer_state},
      {"update_s", Rounded(update, 3)},
      {"update_tflop", Rounded(1e-12 * sum.update_flops / counted, 3)},
      {"update_gflops", Rounded(update_gflops, 1)},
      {"matmul_bf16_gflops", Rounded(matmul, 1)},
      {"update_matmul_share", Rounded(update_gflops / matmul, 3)},
      {"first_token_ms", Rounded(sum.first_token_s / counted * 1e3, 2)}};
  if (device.is_cuda()) {
    line["peak_gpu_gib"] = Rounded(peak_gpu_gib, 2);
  }
  std::printf("%s\n", line.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::WaitPassively(argv);
  whetstone::ReuseTensorMemory();
  whetstone::Flags flags;
  CLI::App app{"Time of a GRPO step"};
  app.add_option("--model", flags.model, "Hugging Face directory")->required();
  app.add_option("--prompts", flags.work.prompts, "Groups of one step")->check(CLI::PositiveNumber);
  app.add_option("--group", flags.work.group, "Completions of a group")->check(CLI::PositiveNumber);
  app.add_option("--prompt-tokens", flags.work.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--new-tokens", flags.work.new_tokens)->check(CLI::PositiveNumber);
  app.add_option("--steps", flags.steps)->check(CLI::PositiveNumber);
  app.add_option("--dtype", flags.dtype)->check(CLI::IsMember({"bfloat16", "float32"}));
  app.add_option("--optimizer-state", flags.optimizer_state, "fp32, bf16 or 8bit");
  app.add_option("--activation-checkpointing", flags.activation_checkpointing,
                 "auto, none or full");
  app.add_option("--device", flags.device)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--token-budget", flags.token_budget,
                 "packed tokens of a micro-batch; 0: automatic")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", flags.threads, "0: one for each core")->check(CLI::Range(0, 4096));
  app.add_option("--lr", flags.work.lr)->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "grpo_step_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
