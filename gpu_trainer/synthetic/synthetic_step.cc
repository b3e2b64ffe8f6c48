#include "gpu_trainer/synthetic/synthetic_step.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

// Returns the i-th prompt: words until it has `tokens` tokens.
std::vector<int32_t> PromptIds(const Tokenizer& tokenizer, int i, int tokens) {
  const PartScope scope(Part::kInput);
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
  ids.resize(static_cast<size_t>(tokens));
  return tokenizer.Encode(tokenizer.Decode(ids, Tokenizer::kKeepSpecial));
}

double Reward(const std::string& text) {
  return std::stoi(Sha256Hex(text).substr(0, 4), nullptr, 16) / 65535.0;
}

}  // namespace

absl::StatusOr<v1::GrpoBatch> GenerateSyntheticBatch(
    const SyntheticWork& work, int step, const Tokenizer& tokenizer, Engine& engine,
    const std::function<void(const GenerateStatus&)>& on_progress) {
  GenerateSpec spec;
  spec.seed = 17;
  spec.step = step;
  spec.sampling.max_new_tokens = work.new_tokens;
  spec.sampling.ignore_eos = true;
  v1::GrpoBatch batch;
  v1::GrpoSettings& s = *batch.mutable_settings();
  s.set_loss(v1::GrpoSettings::DAPO);
  s.set_clip_low(0.2);
  s.set_clip_high(0.2);
  s.set_advantage_scale(v1::GrpoSettings::GROUP);
  s.set_minibatches(1);
  s.set_importance(v1::GrpoSettings::TOKEN_TRUNCATE);
  s.set_importance_clip_max(2);
  s.set_temperature(1);
  for (int p = 0; p < work.prompts; ++p) {
    PromptGroupSpec group;
    group.group_index = p;
    group.ids = PromptIds(tokenizer, (step * work.prompts + p) % 64, work.prompt_tokens);
    for (int i = 0; i < work.group; ++i) group.samples.push_back(i);
    batch.add_groups()->mutable_prompt_ids()->Assign(group.ids.begin(), group.ids.end());
    spec.groups.push_back(std::move(group));
  }
  GenerateSink sink;
  sink.on_progress = on_progress;
  sink.on_completion = [&batch](Completion c) {
    v1::Rollout& rollout = *batch.mutable_groups(c.group_index)->add_rollouts();
    rollout.set_sample(c.sample);
    rollout.mutable_ids()->Assign(c.ids.begin(), c.ids.end());
    rollout.mutable_sampling_logprobs()->Assign(c.logprobs.begin(), c.logprobs.end());
    rollout.set_reward(Reward(c.text));
  };
  RETURN_IF_ERROR(engine.Generate(spec, sink));
  return batch;
}

absl::StatusOr<UpdateResult> UpdateSynthetically(const SyntheticWork& work,
                                                 const v1::GrpoBatch& batch, Learner& learner) {
  StepSettings settings;
  settings.adamw.lr = work.lr;
  settings.max_grad_norm = 1;
  ASSIGN_OR_RETURN(UpdateResult result, learner.Grpo(batch, settings));
  if (!result.applied) return absl::InternalError(result.skip_reason);
  return result;
}

}  // namespace whetstone
