#include <cstdio>

#include "common/status_macros.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/profile/event_clock.h"
#include "gpu_trainer/profile/machine.h"
#include "gpu_trainer/profile/report.h"
#include "gpu_trainer/synthetic/synthetic_step.h"
#include "gpu_trainer/train/learner/learner_settings.h"

namespace whetstone {
namespace {

struct ProfileOptions {
  std::string model;
  ComputeOptions compute;
  SyntheticWork work;
  v1::LearnerSettings learner;
  bool as_json = false;
};

absl::Status Profile(const ProfileOptions& options) {
  ASSIGN_OR_RETURN(const auto model, LoadModel(options.model, options.compute));
  const torch::Device device = model->weights.device();
  const std::unique_ptr<DeviceClock> clock = MakeDeviceClock(device);
  ASSIGN_OR_RETURN(const LearnerOptions learner_options,
                   ParseLearnerSettings(options.learner, device));
  RETURN_IF_ERROR(CheckLora(model->config, learner_options.lora));
  Engine engine(model->config, model->weights, *model->tokenizer);
  Learner learner(model->config, model->weights, learner_options);
  ProfiledStep step;
  // The first step also maps memory and chooses kernels: the second is the usual one.
  for (int i = 0; i < 2; ++i) {
    step.profile = StepProfile();
    const ProfileCollection collecting(&step.profile, /*trace=*/nullptr, clock.get());
    ASSIGN_OR_RETURN(const v1::GrpoBatch batch,
                     GenerateSyntheticBatch(options.work, i, *model->tokenizer, engine));
    RETURN_IF_ERROR(UpdateSynthetically(options.work, batch, learner).status());
  }
  const MemoryUse memory = MemoryUseOf(device);
  step.peak_bytes = memory.peak_bytes;
  step.headroom_bytes = memory.headroom_bytes;
  step.on_gpu = !device.is_cpu();
  step.dtype = ComputeTypeName(model->weights.dtype());
  step.sequences = int64_t{options.work.prompts} * options.work.group;
  step.adapters_only = learner.lora() != nullptr;
  const MachineSpeed machine = MeasureMachine(device, /*seconds=*/3, {step.dtype});
  if (options.as_json) {
    PrintLine(ReportJson(step, machine));
  } else {
    std::printf("%s", ReportText(step, machine).c_str());
  }
  return absl::OkStatus();
}

// Adds the options that a campaign has under train.
void AddLearnerOptions(CLI::App* command, v1::LearnerSettings* settings) {
  const auto text = [&](const char* name, std::string* to, const char* help) {
    command->add_option(name, *to, help);
  };
  text("--optimizer-state", settings->mutable_optimizer_state(), "fp32, bf16 or 8bit");
  text("--activation-checkpointing", settings->mutable_activation_checkpointing(),
       "auto, none or full");
  command->add_option_function<int64_t>(
      "--token-budget", [settings](int64_t n) { settings->set_token_budget(n); },
      "tokens of a micro-batch; 0: automatic");
  command->add_option_function<int>(
      "--lora-rank",
      [settings](int rank) {
        v1::LoraSettings& lora = *settings->mutable_lora();
        lora.set_rank(rank);
        lora.set_alpha(2 * rank);
        for (const char* target :
             {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}) {
          lora.add_targets(target);
        }
      },
      "learn adapters of this rank on all matrices");
}

}  // namespace

void AddProfileCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand(
      "profile", "One GRPO step with a free reward: time and work by part, and what bounds it");
  command->add_option("--model", options->model, "a Hugging Face directory")->required();
  command->add_option("--prompts", options->work.prompts, "groups of the step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--group", options->work.group, "completions of a group")
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  command->add_option("--prompt-tokens", options->work.prompt_tokens)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--new-tokens", options->work.new_tokens)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddLearnerOptions(command, &options->learner);
  command->add_flag("--json", options->as_json, "one line of JSON");
  AddComputeOptions(command, &options->compute);
  command->callback([options, exit_code] { *exit_code = ExitCode(Profile(*options)); });
}

}  // namespace whetstone
