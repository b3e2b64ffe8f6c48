#include "coordinator/ledger.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/code_extractor.h"

namespace whetstone {

Ledger::Ledger(const CampaignPlan* plan) : plan_(plan) { OpenStep(); }

void Ledger::Apply(const Fact& fact) {
  std::visit([this](const auto& f) { Set(f); }, fact);
}

int64_t Ledger::step() const {
  return position_ < plan_->warmup_updates() || done() ? 0
                                                       : position_ - plan_->warmup_updates() + 1;
}

void Ledger::OpenStep() {
  groups_.clear();
  if (step() == 0) return;
  groups_.resize(static_cast<size_t>(plan_->campaign.train().prompts_per_step()));
  for (GroupRecord& group : groups_) {
    group.samples.resize(static_cast<size_t>(plan_->campaign.train().group_size()));
  }
}

CandidateRecord& Ledger::At(int64_t step, int group, int sample) {
  CHECK(step == this->step());
  CHECK(group >= 0 && static_cast<size_t>(group) < groups_.size());
  std::vector<CandidateRecord>& samples = groups_[static_cast<size_t>(group)].samples;
  CHECK(sample >= 0 && static_cast<size_t>(sample) < samples.size());
  return samples[static_cast<size_t>(sample)];
}

void Ledger::Set(const PromptFact& fact) {
  At(fact.step, fact.prompt.problem(), 0);
  groups_[static_cast<size_t>(fact.prompt.problem())].prompt = fact.prompt;
}

void Ledger::Set(const RolloutFact& fact) {
  CandidateRecord& record = At(fact.step, fact.completion.problem(), fact.completion.sample());
  CHECK(!record.completion);
  record.completion = fact.completion;
  record.source = ExtractCode(fact.completion.text(), plan_->campaign.generate().response_prefix());
}

void Ledger::Set(const VerdictFact& fact) {
  CandidateRecord& record = At(fact.step, fact.group, fact.sample);
  CHECK(record.completion && !record.verdict);
  record.verdict = fact;
}

void Ledger::Set(const LeaderFact& fact) {
  At(fact.step, fact.group, fact.sample);
  groups_[static_cast<size_t>(fact.group)].leader_checked = true;
  if (fact.accepted) leaders_[fact.problem_id] = fact;
}

void Ledger::Set(const UpdateFact& fact) {
  CHECK(plan_->PositionOf(fact.request.name()) == position_ + 1);
  ++position_;
  const auto reward = fact.row.find("reward");
  if (reward != fact.row.end() && std::isfinite(reward->second)) {
    reward_sum_ += reward->second;
    ++rewarded_steps_;
  }
  OpenStep();
}

void Ledger::Set(const CheckpointFact& fact) {
  checkpoints_.push_back(fact);
  checkpoint_rewards_.push_back(std::nullopt);
  if (rewarded_steps_ > 0) {
    checkpoint_rewards_.back() = reward_sum_ / static_cast<double>(rewarded_steps_);
  }
  reward_sum_ = 0;
  rewarded_steps_ = 0;
}

void Ledger::Set(const CalibrationFact& fact) {
  calibrations_[{fact.host_id, fact.problem_hash}] = fact.calibration;
}

bool Ledger::HasAllRollouts() const {
  for (const GroupRecord& group : groups_) {
    if (!group.prompt) return false;
    for (const CandidateRecord& record : group.samples) {
      if (!record.completion) return false;
    }
  }
  return !groups_.empty();
}

bool Ledger::HasAllVerdicts() const {
  for (const GroupRecord& group : groups_) {
    for (const CandidateRecord& record : group.samples) {
      if (!record.verdict) return false;
    }
  }
  return !groups_.empty();
}

bool Ledger::CheckpointSaved(int64_t position) const {
  return std::any_of(checkpoints_.begin(), checkpoints_.end(), [&](const CheckpointFact& fact) {
    return plan_->PositionOf(fact.name) == position;
  });
}

const v1::Calibration* Ledger::FindCalibration(const std::string& host_id,
                                               const std::string& problem_hash) const {
  const auto it = calibrations_.find({host_id, problem_hash});
  return it == calibrations_.end() ? nullptr : &it->second;
}

std::string Ledger::Fingerprint() const {
  std::string text = absl::StrCat("position ", position_, "\n");
  for (size_t g = 0; g < groups_.size(); ++g) {
    const GroupRecord& group = groups_[g];
    absl::StrAppend(&text, "group ", g, " leader_checked ", group.leader_checked, " prompt ",
                    group.prompt ? group.prompt->ShortDebugString() : "none", "\n");
    for (size_t s = 0; s < group.samples.size(); ++s) {
      const CandidateRecord& record = group.samples[s];
      absl::StrAppend(&text, "  ", s, ": ",
                      record.completion ? record.completion->ShortDebugString() : "none");
      if (record.verdict) {
        absl::StrAppend(&text, " → ", record.verdict->verdict.ShortDebugString(), " reward ",
                        record.verdict->reward, record.verdict->dropped ? " dropped" : "");
      }
      text += "\n";
    }
  }
  for (const CheckpointFact& fact : checkpoints_) {
    absl::StrAppend(&text, "checkpoint ", PhaseStep(fact.name), " ", fact.path, " ", fact.checksum,
                    "\n");
  }
  for (const auto& [id, fact] : leaders_) {
    absl::StrAppend(&text, "leader ", id, " step ", fact.step, " sample ", fact.group, "/",
                    fact.sample, " ", Sha256Hex(fact.source), " speedup ", fact.verdict.speedup(),
                    "\n");
  }
  for (const auto& [key, calibration] : calibrations_) {
    absl::StrAppend(&text, "calibration ", key.first, " ", key.second, " ",
                    calibration.ShortDebugString(), "\n");
  }
  return text;
}

namespace {

// A campaign's word is the name of the enum's value in small letters.
template <typename Enum>
Enum Named(const std::string& word, bool (*parse)(google::protobuf::ConstStringParam, Enum*)) {
  Enum value;
  CHECK(parse(absl::AsciiStrToUpper(word), &value));
  return value;
}

v1::GrpoSettings SettingsOf(const CampaignPlan& plan) {
  using S = v1::GrpoSettings;
  const v1::TrainConfig& train = plan.campaign.train();
  v1::GrpoSettings settings;
  settings.set_loss(Named(train.loss(), &S::Loss_Parse));
  settings.set_clip_low(train.clip_low());
  settings.set_clip_high(train.clip_high());
  settings.set_dual_clip(train.dual_clip());
  settings.set_advantage_scale(Named(train.advantage_scale(), &S::AdvantageScale_Parse));
  settings.set_minibatches(train.minibatches());
  settings.set_max_new_tokens(plan.campaign.generate().max_new_tokens());
  settings.set_temperature(plan.campaign.generate().temperature());
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
  learner->mutable_lora()->set_rank(train.lora().rank());
  learner->mutable_lora()->set_alpha(train.lora().alpha());
  *learner->mutable_lora()->mutable_targets() = train.lora().targets();
  request.mutable_chat()->set_thinking(plan.campaign.chat().thinking());
  request.mutable_chat()->set_date(plan.campaign.chat().date());
  return request;
}

v1::UpdateRequest BuildUpdate(const CampaignPlan& plan, const Ledger& ledger) {
  const int64_t position = ledger.position() + 1;
  const v1::TrainConfig& train = plan.campaign.train();
  v1::UpdateRequest request;
  *request.mutable_name() = plan.NameOf(position);
  v1::OptimizerSettings* optimizer = request.mutable_optimizer();
  optimizer->set_lr(plan.LearningRateAt(position));
  optimizer->set_beta1(train.beta1());
  optimizer->set_beta2(train.beta2());
  optimizer->set_eps(train.eps());
  optimizer->set_weight_decay(train.weight_decay());
  optimizer->set_max_grad_norm(train.max_grad_norm());
  optimizer->set_spike_factor(train.spike_factor());
  optimizer->set_grad_norm_per_layer(train.grad_norm_per_layer());
  request.set_profile(plan.campaign.profile());
  if (request.name().phase() == v1::UpdateName::WARMUP) {
    for (const v1::SftExample& example : plan.warmup[static_cast<size_t>(position - 1)]) {
      *request.mutable_sft()->add_examples() = example;
    }
    return request;
  }
  CHECK(ledger.HasAllVerdicts());
  v1::GrpoBatch* batch = request.mutable_grpo();
  *batch->mutable_settings() = SettingsOf(plan);
  for (size_t g = 0; g < ledger.groups().size(); ++g) {
    const GroupRecord& record = ledger.groups()[g];
    v1::RolloutGroup* group = batch->add_groups();
    group->set_problem(static_cast<int>(g));
    *group->mutable_prompt_ids() = record.prompt->ids();
    for (const CandidateRecord& candidate : record.samples) {
      v1::Rollout* rollout = group->add_rollouts();
      rollout->set_sample(candidate.completion->sample());
      *rollout->mutable_ids() = candidate.completion->ids();
      *rollout->mutable_sampling_logprobs() = candidate.completion->sampling_logprobs();
      rollout->set_reward(candidate.verdict->reward);
      rollout->set_dropped(candidate.verdict->dropped);
      rollout->set_truncated(candidate.completion->finish() == v1::Completion::LENGTH);
    }
  }
  return request;
}

v1::GenerateRequest BuildGenerate(const CampaignPlan& plan, const Ledger& ledger) {
  const v1::GenerateConfig& generate = plan.campaign.generate();
  v1::GenerateRequest request;
  request.set_seed(plan.campaign.seed());
  request.set_step(ledger.step());
  request.set_profile(plan.campaign.profile());
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
  for (size_t g = 0; g < ledger.groups().size(); ++g) {
    v1::PromptGroup group;
    const GroupRecord& record = ledger.groups()[g];
    for (size_t s = 0; s < record.samples.size(); ++s) {
      if (!record.samples[s].completion) group.add_samples(static_cast<int>(s));
    }
    if (group.samples().empty()) continue;
    group.set_problem(static_cast<int>(g));
    for (const v1::Message& message : plan.ProblemOf(ledger.step(), static_cast<int>(g)).messages) {
      *group.add_messages() = message;
    }
    group.set_response_prefix(generate.response_prefix());
    *request.add_groups() = group;
  }
  return request;
}

std::vector<std::string> ObsoleteCheckpoints(const CampaignPlan& plan, const Ledger& ledger) {
  const std::vector<CheckpointFact>& saved = ledger.checkpoints();
  const size_t keep = static_cast<size_t>(plan.campaign.checkpoint().keep());
  if (saved.size() <= keep) return {};
  std::optional<size_t> best;
  for (size_t i = 0; plan.campaign.checkpoint().keep_best() && i < saved.size(); ++i) {
    const std::optional<double> reward = ledger.CheckpointReward(i);
    if (reward && (!best || *reward >= *ledger.CheckpointReward(*best))) best = i;
  }
  std::vector<std::string> obsolete;
  for (size_t i = 0; i + keep < saved.size(); ++i) {
    // The reference of a KL penalty is read again after a restart.
    if (i != best && saved[i].path != plan.ReferencePath()) obsolete.push_back(saved[i].path);
  }
  return obsolete;
}

}  // namespace whetstone
