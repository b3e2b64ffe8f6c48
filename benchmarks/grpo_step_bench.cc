// Time of a whole GRPO step, generation and update, with a reward that costs nothing: the same work
// and the same output line as a TRL script of the same arguments, so that the two can be compared.
//
//   grpo_step_bench --model DIR [--prompts 2] [--group 8] [--new-tokens 128] [--steps 4]
//
// Every completion is forced to --new-tokens tokens. Weights compute in --dtype; masters and
// moments are fp32. Details of each step go to stderr, one JSON line to stdout: s_per_step is wall
// time over all steps, generation figures leave the first step out.
#include <sys/resource.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/grpo/learner.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/passive_threads.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/reuse_memory.h"
#include "gpu_trainer/tokenizer/tokenizer.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {
namespace {

struct Flags {
  std::string model;
  int prompts = 2;
  int group = 8;
  int prompt_tokens = 256;
  int new_tokens = 128;
  int steps = 4;
  std::string dtype = "bfloat16";
  int threads = 0;
  double lr = 1e-6;
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Rounded(double x, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(x * scale) / scale;
}

// The i-th prompt: words until it has --prompt-tokens tokens.
std::vector<int32_t> PromptIds(const Tokenizer& tokenizer, int i, int tokens) {
  static constexpr const char* kWords[] = {"for",    "int", "float", "sum", "n",
                                           "return", "if",  "while", "x",   "y"};
  std::string text;
  int k = i % 10;
  std::vector<int32_t> ids;
  while (static_cast<int>(ids.size()) < tokens) {
    absl::StrAppend(&text, " ", kWords[k]);
    k = (k * 7 + 3) % 10;
    ids = tokenizer.Encode(text);
  }
  ids.resize(tokens);
  return tokenizer.Encode(tokenizer.Decode(ids, Tokenizer::kKeepSpecial));
}

double Reward(const std::string& text) {
  return std::stoi(Sha256Hex(text).substr(0, 4), nullptr, 16) / 65535.0;
}

// Of all threads of this process: on a busy machine it tells more than wall time.
double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct StepTimes {
  double generate_s = 0;
  double update_s = 0;
};

absl::StatusOr<StepTimes> RunStep(const Flags& flags, int step, const Tokenizer& tokenizer,
                                  Engine& engine, Learner& learner) {
  GenerateSpec spec;
  spec.seed = 17;
  spec.step = step;
  spec.sampling.max_new_tokens = flags.new_tokens;
  spec.sampling.ignore_eos = true;
  v1::GrpoBatch batch;
  v1::GrpoSettings& s = *batch.mutable_settings();
  s.set_loss(v1::GrpoSettings::DAPO);
  s.set_clip_low(0.2);
  s.set_clip_high(0.2);
  s.set_advantage_scale(v1::GrpoSettings::GROUP);
  s.set_minibatches(1);
  s.set_importance_cap(2);
  s.set_temperature(1);
  for (int p = 0; p < flags.prompts; ++p) {
    PromptGroupSpec group{.problem = p, .ids = {}, .samples = {}};
    group.ids = PromptIds(tokenizer, (step * flags.prompts + p) % 64, flags.prompt_tokens);
    for (int i = 0; i < flags.group; ++i) group.samples.push_back(i);
    batch.add_groups()->mutable_prompt_ids()->Assign(group.ids.begin(), group.ids.end());
    spec.groups.push_back(std::move(group));
  }
  StepTimes times;
  double t = Now(), processor = ProcessorSeconds();
  GenerateSink sink;
  sink.on_completion = [&batch](Completion c) {
    v1::Rollout& rollout = *batch.mutable_groups(c.problem)->add_rollouts();
    rollout.set_sample(c.sample);
    rollout.mutable_ids()->Assign(c.ids.begin(), c.ids.end());
    rollout.mutable_sampling_logprobs()->Assign(c.logprobs.begin(), c.logprobs.end());
    rollout.set_reward(Reward(c.text));
  };
  RETURN_IF_ERROR(engine.Generate(spec, sink));
  times.generate_s = Now() - t;
  const double generate_processor_s = ProcessorSeconds() - processor;
  t = Now(), processor = ProcessorSeconds();
  StepSettings settings;
  settings.adamw.lr = flags.lr;
  settings.max_grad_norm = 1;
  StepProfile profile;
  std::optional<ProfileCollection> collecting(&profile);
  ASSIGN_OR_RETURN(UpdateResult result, learner.Grpo(batch, settings));
  collecting.reset();
  for (int i = 0; i < kParts; ++i) {
    const PartUse& use = profile.of(static_cast<Part>(i));
    if (use.seconds > 0) std::fprintf(stderr, "  %-20s %6.3f s %8.1f GFLOP %8.1f GFLOP/s\n", NameOf(static_cast<Part>(i)), use.seconds, use.flops * 1e-9, use.flops * 1e-9 / use.seconds);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr, "  faults %ld  rss max %.2f GiB  total %.1f GFLOP\n", usage.ru_minflt, static_cast<double>(usage.ru_maxrss) / (1 << 20), profile.flops() * 1e-9);
  times.update_s = Now() - t;
  if (!result.applied) return absl::InternalError(result.skip_reason);
  std::fprintf(stderr,
               "step %d: generate %.2f s (processor %.2f), update %.2f s (processor %.2f), entropy "
               "%.3f, grad_norm %.3f, importance ratio %.4f, |old - sampling| %.5f\n",
               step + 1, times.generate_s, generate_processor_s, times.update_s,
               ProcessorSeconds() - processor, result.metrics["entropy"],
               result.metrics["grad_norm"],
               result.metrics["sampling/importance_sampling_ratio/mean"],
               result.metrics["sampling/sampling_logp_difference/mean"]);
  return times;
}

absl::Status Run(const Flags& flags) {
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  const torch::ScalarType dtype = flags.dtype == "bfloat16" ? torch::kBFloat16 : torch::kFloat;
  ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig(flags.model));
  ASSIGN_OR_RETURN(Weights weights, LoadWeights(flags.model, config, dtype));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(flags.model));
  Engine engine(config, weights, *tokenizer);
  Learner learner(config, weights, {});

  const double start = Now();
  std::vector<double> generate_s;
  for (int step = 0; step < flags.steps; ++step) {
    ASSIGN_OR_RETURN(const StepTimes times, RunStep(flags, step, *tokenizer, engine, learner));
    generate_s.push_back(times.generate_s);
  }
  const double wall = Now() - start;
  if (generate_s.size() > 1) generate_s.erase(generate_s.begin());
  double generate = 0;
  for (const double s : generate_s) generate += s / static_cast<double>(generate_s.size());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const int sequences = flags.prompts * flags.group;
  const nlohmann::ordered_json line = {
      {"peer", "whetstone"},
      {"model", flags.model},
      {"device", "cpu"},
      {"dtype", flags.dtype},
      {"threads", at::get_num_threads()},
      {"sequences", sequences},
      {"prompt_tokens", flags.prompt_tokens},
      {"new_tokens", flags.new_tokens},
      {"s_per_step", Rounded(wall / flags.steps, 3)},
      {"generate_s", Rounded(generate, 3)},
      {"generate_tok_s", Rounded(sequences * flags.new_tokens / generate, 1)},
      {"peak_rss_gib", Rounded(static_cast<double>(usage.ru_maxrss) / (1 << 20), 2)}};
  std::printf("%s\n", line.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::WaitPassively(argv);
  if (std::getenv("NO_REUSE") == nullptr) whetstone::ReuseTensorMemory();
  whetstone::Flags flags;
  CLI::App app{"Time of a GRPO step"};
  app.add_option("--model", flags.model, "Hugging Face directory")->required();
  app.add_option("--prompts", flags.prompts, "Groups of one step")->check(CLI::PositiveNumber);
  app.add_option("--group", flags.group, "Completions of a group")->check(CLI::PositiveNumber);
  app.add_option("--prompt-tokens", flags.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--new-tokens", flags.new_tokens)->check(CLI::PositiveNumber);
  app.add_option("--steps", flags.steps)->check(CLI::PositiveNumber);
  app.add_option("--dtype", flags.dtype)->check(CLI::IsMember({"bfloat16", "float32"}));
  app.add_option("--threads", flags.threads, "0: one for each core")->check(CLI::Range(0, 4096));
  app.add_option("--lr", flags.lr)->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "grpo_step_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
