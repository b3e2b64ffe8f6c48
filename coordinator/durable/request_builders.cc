#include "coordinator/durable/request_builders.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/durable/remembered_programs.h"

namespace whetstone {
namespace {

// A campaign's word is the name of the enum's value in small letters.
template <typename Enum>
Enum Named(const std::string& word, bool (*parse)(google::protobuf::ConstStringParam, Enum*)) {
  Enum value;
  CHECK(parse(absl::AsciiStrToUpper(word), &value));
  return value;
}

v1::GrpoSettings SettingsOf(const CampaignPlan& plan, int64_t step) {
  using S = v1::GrpoSettings;
  const v1::Campaign& campaign = plan.CampaignAt(step);
  const v1::TrainConfig& train = campaign.train();
  v1::GrpoSettings settings;
  settings.set_loss(Named(train.loss(), &S::Loss_Parse));
  settings.set_clip_low(train.clip_low());
  settings.set_clip_high(train.clip_high());
  settings.set_dual_clip(train.dual_clip());
  settings.set_advantage_scale(Named(train.advantage_scale(), &S::AdvantageScale_Parse));
  settings.set_minibatches(train.minibatches());
  settings.set_max_new_tokens(campaign.generate().max_new_tokens());
  settings.set_temperature(campaign.generate().temperature());
  if (train.kl_beta() > 0) {
    settings.set_kl_beta(train.kl_beta());
    settings.set_kl_estimator(Named(train.kl_estimator(), &S::KlEstimator_Parse));
    settings.set_kl_reference(plan.ReferencePath());
  }
  const v1::ImportanceConfig& importance = train.importance();
  if (importance.mode() != "off") {
    settings.set_importance(Named(importance.mode(), &S::Importance_Parse));
    settings.set_importance_clip_min(importance.clip_min());
    settings.set_importance_clip_max(importance.clip_max());
  }
  settings.set_entropy_bonus(train.entropy_bonus());
  settings.set_mask_truncated(train.mask_truncated());
  if (train.imitation().size() > 0) settings.set_imitation_weight(train.imitation().weight());
  return settings;
}

}  // namespace

v1::LoadCheckpointRequest BuildLoad(const CampaignPlan& plan, const std::string& path) {
  const v1::TrainConfig& train = plan.campaign.train();
  v1::LoadCheckpointRequest request;
  request.set_path(path);
  request.set_campaign_id(plan.campaign_id);
  v1::LearnerSettings* learner = request.mutable_learner();
  learner->set_optimizer_state(train.optimizer_state());
  learner->set_activation_checkpointing(train.activation_checkpointing());
  learner->set_token_budget(train.token_budget());
  learner->set_sharding(train.sharding());
  learner->mutable_lora()->set_rank(train.lora().rank());
  learner->mutable_lora()->set_alpha(train.lora().alpha());
  *learner->mutable_lora()->mutable_targets() = train.lora().targets();
  request.mutable_chat()->set_thinking(plan.campaign.chat().thinking());
  request.mutable_chat()->set_date(plan.campaign.chat().date());
  request.set_deterministic(plan.campaign.deterministic());
  request.set_weights_only(plan.LearnedAt(plan.updates()) == 0);
  return request;
}

absl::Status CheckHeld(const v1::LoadCheckpointResponse& loaded) {
  if (loaded.holder().epoch() != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the trainer is of version ", loaded.info().version(),
                   ", which does not know who holds it; install this program's version there"));
}

v1::TrainerInfoRequest BuildRelease(const v1::Holder& holder) {
  v1::TrainerInfoRequest request;
  *request.mutable_holder() = holder;
  request.set_release(true);
  return request;
}

v1::UpdateRequest BuildUpdate(const CampaignPlan& plan, const DurableState& durable) {
  const int64_t position = durable.position() + 1;
  v1::UpdateRequest request;
  *request.mutable_name() = plan.NameOf(position);
  const bool warm = request.name().phase() == v1::UpdateName::WARMUP;
  const v1::Campaign& campaign = plan.CampaignAt(warm ? 0 : request.name().step());
  const v1::TrainConfig& train = campaign.train();
  v1::OptimizerSettings* optimizer = request.mutable_optimizer();
  optimizer->set_lr(plan.LearningRateAt(position));
  optimizer->set_beta1(train.beta1());
  optimizer->set_beta2(train.beta2());
  optimizer->set_eps(train.eps());
  optimizer->set_weight_decay(train.weight_decay());
  optimizer->set_max_grad_norm(train.max_grad_norm());
  optimizer->set_spike_factor(train.spike_factor());
  optimizer->set_grad_norm_per_layer(train.grad_norm_per_layer());
  request.set_profile(campaign.profile());
  if (warm) {
    for (const v1::SftExample& example : plan.warmup[static_cast<size_t>(position - 1)]) {
      *request.mutable_sft()->add_examples() = example;
    }
    return request;
  }
  const StepRecord& step = durable.open_steps().front();
  CHECK(step.HasAllVerdicts());
  v1::GrpoBatch* batch = request.mutable_grpo();
  *batch->mutable_settings() = SettingsOf(plan, step.step);
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const GroupRecord& record = step.groups[g];
    const std::vector<v1::Rollout> imitated =
        ImitatedRollouts(plan, durable.memory(), step, static_cast<int>(g));
    if (train.dynamic_sampling().max_refills() > 0 && !record.HasSpread(imitated)) continue;
    v1::RolloutGroup* group = batch->add_groups();
    group->set_group_index(static_cast<int>(g));
    *group->mutable_prompt_ids() = record.prompt->ids();
    for (const CandidateRecord& candidate : record.samples) {
      v1::Rollout* rollout = group->add_rollouts();
      rollout->set_sample(candidate.completion->sample());
      *rollout->mutable_ids() = candidate.completion->ids();
      *rollout->mutable_sampling_logprobs() = candidate.completion->sampling_logprobs();
      rollout->set_reward(candidate.verdict->reward);
      rollout->set_reward_error(candidate.verdict->verdict.reward_error());
      rollout->set_dropped(candidate.verdict->dropped);
      rollout->set_truncated(candidate.completion->finish() != v1::Completion::STOP);
    }
    for (const v1::Rollout& rollout : imitated) *group->add_rollouts() = rollout;
  }
  return request;
}

std::string RequestHash(const CampaignPlan& plan, v1::UpdateRequest request) {
  const std::string& reference = request.grpo().settings().kl_reference();
  const std::string inside = plan.checkpoint_dir + "/";
  const bool elsewhere = !reference.empty() && reference == plan.warmup_checkpoint;
  if (elsewhere || absl::StartsWith(reference, inside)) {
    const std::string relative =
        reference.substr(elsewhere ? reference.rfind('/') + 1 : inside.size());
    request.mutable_grpo()->mutable_settings()->set_kl_reference(relative);
  }
  return Sha256Hex(request.SerializeAsString());
}

absl::StatusOr<v1::UpdateRequest> RecordedRequest(const CampaignPlan& plan,
                                                  const DurableState& before,
                                                  const UpdateEntry& entry, bool exact) {
  RETURN_IF_ERROR(before.Check(entry));
  const std::string where = PhaseStep(entry.name);
  if (before.step() > 0) {
    const StepRecord& step = before.open_steps().front();
    if (!(step.HasAllRollouts() && step.HasAllVerdicts())) {
      return absl::DataLossError(absl::StrCat(
          where,
          ": the journal holds its update, but not the prompt, rollout and verdict of each "
          "sample"));
    }
  }
  if (entry.request) return *entry.request;
  v1::UpdateRequest request = BuildUpdate(plan, before);
  // Rows have checksums of their own: where the hash differs another version of this program built
  // the request otherwise, or the campaign was changed.
  if (!exact || RequestHash(plan, request) == entry.request_hash) return request;
  return absl::DataLossError(
      absl::StrCat(where,
                   ": the update that follows from its rollouts and verdicts is not the one that "
                   "the journal recorded: campaign.yaml, inputs/ or journal.db was changed since, "
                   "or another version of Whetstone wrote them"));
}

v1::GenerateRequest BuildGenerate(const CampaignPlan& plan, const StepRecord& step) {
  const v1::Campaign& campaign = plan.CampaignAt(step.step);
  const v1::GenerateConfig& generate = campaign.generate();
  v1::GenerateRequest request;
  request.set_seed(plan.campaign.seed());
  // Steps count from 1, so that the random numbers of evaluations are their own. They are always
  // the same, so that policies compare in pairs.
  request.set_step(IsEvaluation(step.step) ? 0 : step.step);
  request.set_deterministic(plan.campaign.deterministic());
  request.set_profile(campaign.profile());
  v1::SamplingParams* sampling = request.mutable_sampling();
  sampling->set_max_new_tokens(generate.max_new_tokens());
  sampling->set_temperature(generate.temperature());
  sampling->set_top_p(generate.top_p());
  sampling->set_top_k(generate.top_k());
  *sampling->mutable_stop() = generate.stop();
  sampling->set_min_p(generate.min_p());
  sampling->set_repetition_penalty(generate.repetition_penalty());
  sampling->set_presence_penalty(generate.presence_penalty());
  sampling->set_frequency_penalty(generate.frequency_penalty());
  *sampling->mutable_stop_ids() = generate.stop_ids();
  sampling->set_deadline_s(generate.deadline_s());
  request.set_kv_mib_max(generate.kv_mib_max());
  request.set_sequences_max(generate.sequences_max());
  for (size_t g = 0; g < step.groups.size(); ++g) {
    v1::PromptGroup group;
    const GroupRecord& record = step.groups[g];
    for (size_t s = 0; s < record.samples.size(); ++s) {
      if (!record.samples[s].completion) group.add_samples(static_cast<int>(s));
    }
    if (group.samples().empty()) continue;
    group.set_group_index(static_cast<int>(g));
    const int group_index = static_cast<int>(g);
    for (const v1::Message& message :
         record.parent ? plan.MessagesFrom(step.step, group_index, *record.parent)
                       : plan.MessagesOf(step.step, group_index)) {
      *group.add_messages() = message;
    }
    group.set_response_prefix(plan.ProblemOf(step.step, static_cast<int>(g)).response_prefix);
    *request.add_groups() = group;
  }
  return request;
}

}  // namespace whetstone
