#include "gpu_trainer/train/learner/learner_settings.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace whetstone {

absl::StatusOr<LearnerOptions> ParseLearnerSettings(const v1::LearnerSettings& settings,
                                                    torch::Device device) {
  LearnerOptions options;
  const std::string& state = settings.optimizer_state();
  if (state == "bf16") {
    options.optimizer_state = MomentType::kBf16;
  } else if (state == "8bit") {
    options.optimizer_state = MomentType::kEightBit;
  } else if (!state.empty() && state != "fp32") {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.optimizer_state is '", state, "'; valid: fp32, bf16, 8bit"));
  }
  if (options.optimizer_state != MomentType::kFp32 && !device.is_cpu()) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.optimizer_state is '", state,
                     "', which is for training on the CPU; use fp32 on ", device.str()));
  }
  if (!settings.sharding().empty()) {
    const auto named = std::find_if(kShardings.begin(), kShardings.end(), [&](Sharding sharding) {
      return settings.sharding() == NameOf(sharding);
    });
    if (named == kShardings.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("learner.sharding is '", settings.sharding(),
                       "'; valid: none, optimizer, gradients, parameters"));
    }
    options.sharding = *named;
  }
  if (options.sharding == Sharding::kParameters && settings.lora().rank() > 0) {
    return absl::InvalidArgumentError(
        "learner.sharding is 'parameters', which is for training all weights; with adapters "
        "(learner.lora) use gradients");
  }
  const std::string& checkpointing = settings.activation_checkpointing();
  if (checkpointing == "none") {
    options.activation_checkpointing = ActivationCheckpointing::kOff;
  } else if (checkpointing == "full") {
    options.activation_checkpointing = ActivationCheckpointing::kOn;
  } else if (!checkpointing.empty() && checkpointing != "auto") {
    return absl::InvalidArgumentError(absl::StrCat("learner.activation_checkpointing is '",
                                                   checkpointing, "'; valid: auto, none, full"));
  }
  if (settings.token_budget() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.token_budget is ", settings.token_budget(), "; 0 means automatic"));
  }
  options.token_budget = settings.token_budget();
  options.lora = {.rank = settings.lora().rank(),
                  .alpha = settings.lora().alpha(),
                  .targets = {settings.lora().targets().begin(), settings.lora().targets().end()}};
  return options;
}

}  // namespace whetstone
