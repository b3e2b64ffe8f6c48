#include "coordinator/campaign/ledger.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/campaign/code_extractor.h"

namespace whetstone {

Ledger::Ledger(const CampaignPlan* plan) : plan_(plan) { OpenSteps(); }

absl::Status Ledger::Check(const Fact& fact) const {
  return std::visit([this](const auto& f) { return CheckOne(f); }, fact);
}

void Ledger::Apply(const Fact& fact) {
  CHECK(Check(fact).ok());
  std::visit([this](const auto& f) { Set(f); }, fact);
}

absl::Status Ledger::CheckPlace(const char* what, int64_t step, int group, int sample) const {
  const StepRecord* open = FindStep(step);
  if (open != nullptr && group >= 0 && static_cast<size_t>(group) < open->groups.size() &&
      sample >= 0 &&
      static_cast<size_t>(sample) < open->groups[static_cast<size_t>(group)].samples.size()) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the journal holds a ", what, " of step ", step, ", problem ", group, ", sample ", sample,
      " after ", position_, " of ", plan_->updates(), " updates, where it has no place"));
}

absl::Status Ledger::CheckOne(const PromptFact& fact) const {
  return CheckPlace("prompt", fact.step, fact.prompt.problem(), 0);
}

absl::Status Ledger::CheckOne(const RolloutFact& fact) const {
  const int group = fact.completion.problem(), sample = fact.completion.sample();
  RETURN_IF_ERROR(CheckPlace("rollout", fact.step, group, sample));
  if (!At(fact.step, group, sample).completion) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal holds a second rollout of step ", fact.step,
                                          ", problem ", group, ", sample ", sample));
}

absl::Status Ledger::CheckOne(const VerdictFact& fact) const {
  RETURN_IF_ERROR(CheckPlace("verdict", fact.step, fact.group, fact.sample));
  const CandidateRecord& record = At(fact.step, fact.group, fact.sample);
  if (record.completion && !record.verdict) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the journal holds ", record.completion ? "a second verdict" : "a verdict without a rollout",
      " of step ", fact.step, ", problem ", fact.group, ", sample ", fact.sample));
}

absl::Status Ledger::CheckOne(const LeaderFact& fact) const {
  return CheckPlace("best program", fact.step, fact.group, fact.sample);
}

absl::Status Ledger::CheckOne(const UpdateFact& fact) const {
  if (done() || plan_->PositionOf(fact.request.name()) != position_ + 1) {
    return absl::DataLossError(absl::StrCat("the journal holds an update of ",
                                            PhaseStep(fact.request.name()), " after ", position_,
                                            " of ", plan_->updates(), " updates"));
  }
  for (const StepRecord& open : open_) {
    if (open.step == step() || !open.Sampling()) continue;
    return absl::DataLossError(absl::StrCat("the journal holds an update of ",
                                            PhaseStep(fact.request.name()),
                                            " amid the rollouts of step ", open.step));
  }
  return absl::OkStatus();
}

absl::Status Ledger::CheckOne(const CheckpointFact& fact) const {
  if (position_ > 0 && plan_->PositionOf(fact.name) == position_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal holds a checkpoint of ",
                                          PhaseStep(fact.name), " after ", position_, " of ",
                                          plan_->updates(), " updates"));
}

const StepRecord* Ledger::FindStep(int64_t step) const {
  if (open_.empty() || step < open_.front().step || step > open_.back().step) return nullptr;
  return &open_[static_cast<size_t>(step - open_.front().step)];
}

void Ledger::OpenSteps() {
  if (position_ < plan_->warmup_updates()) return;
  const v1::TrainConfig& train = plan_->campaign.train();
  const int64_t first = position_ - plan_->warmup_updates() + 1;
  const int64_t last = std::min<int64_t>(first + train.max_staleness(), train.steps());
  for (int64_t step = open_.empty() ? first : open_.back().step + 1; step <= last; ++step) {
    open_.emplace_back(step, train.prompts_per_step(), train.group_size());
  }
}

StepRecord& Ledger::StepAt(int64_t step) {
  return open_[static_cast<size_t>(step - open_.front().step)];
}

const CandidateRecord& Ledger::At(int64_t step, int group, int sample) const {
  return FindStep(step)->groups[static_cast<size_t>(group)].samples[static_cast<size_t>(sample)];
}

CandidateRecord& Ledger::At(int64_t step, int group, int sample) {
  return StepAt(step).groups[static_cast<size_t>(group)].samples[static_cast<size_t>(sample)];
}

void Ledger::Set(const PromptFact& fact) {
  StepRecord& step = StepAt(fact.step);
  std::optional<v1::PromptTokens>& prompt =
      step.groups[static_cast<size_t>(fact.prompt.problem())].prompt;
  step.prompts += prompt ? 0 : 1;  // tokenised again by a trainer that lost its memory
  prompt = fact.prompt;
}

void Ledger::Set(const RolloutFact& fact) {
  const int group = fact.completion.problem();
  CandidateRecord& record = At(fact.step, group, fact.completion.sample());
  record.completion = fact.completion;
  StepRecord& step = StepAt(fact.step);
  ++step.rollouts;
  step.groups[static_cast<size_t>(group)].policy = position_;
  record.source = ExtractCode(fact.completion.text(), plan_->campaign.generate().response_prefix());
}

void Ledger::Set(const VerdictFact& fact) {
  At(fact.step, fact.group, fact.sample).verdict = fact;
  StepRecord& step = StepAt(fact.step);
  ++step.verdicts;
  const v1::TrainConfig& train = plan_->campaign.train();
  if (!step.HasAllVerdicts() || step.refills == train.dynamic_sampling().max_refills()) return;
  const int missing = train.prompts_per_step() - step.Informative();
  if (missing > 0) step.Refill(missing);
}

void Ledger::Set(const LeaderFact& fact) {
  StepAt(fact.step).groups[static_cast<size_t>(fact.group)].leader_checked = true;
  if (fact.accepted) leaders_[fact.problem_id] = fact;
}

void Ledger::Set(const UpdateFact& fact) {
  ++position_;
  ranks_ = RanksOf(fact.response);
  const auto reward = fact.row.find("reward");
  if (reward != fact.row.end() && std::isfinite(reward->second)) {
    reward_sum_ += reward->second;
    ++rewarded_steps_;
  }
  if (!open_.empty()) open_.pop_front();
  OpenSteps();
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
  std::string text = absl::StrCat("position ", position_, " ranks ", ranks_, "\n");
  for (const StepRecord& step : open_) {
    absl::StrAppend(&text, "step ", step.step, "\n");
    for (size_t g = 0; g < step.groups.size(); ++g) {
      const GroupRecord& group = step.groups[g];
      absl::StrAppend(&text, "group ", g, " policy ", group.policy.value_or(-1), " leader_checked ",
                      group.leader_checked, " prompt ",
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

int RanksOf(const v1::UpdateResponse& response) {
  const auto ranks = response.metrics().find("perf/ranks");
  return ranks == response.metrics().end() ? 0 : static_cast<int>(ranks->second);
}

absl::Status CheckRanks(int ranks, const v1::TrainerInfo& trainer) {
  if (ranks == 0 || trainer.world_size() == 0 || trainer.world_size() == ranks) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the updates of this deterministic run were computed by ", ranks,
      ranks == 1 ? " rank" : " ranks", ", and the trainer has ", trainer.world_size(),
      ": sums over another number of ranks have other last bits. Start the trainer with ",
      ranks == 1 ? std::string("one (whet-trainer serve)")
                 : absl::StrCat(ranks, " (whet-trainer launch --nproc ", ranks, " -- serve …)")));
}

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
  const StepRecord& step = ledger.open_steps().front();
  CHECK(step.HasAllVerdicts());
  v1::GrpoBatch* batch = request.mutable_grpo();
  *batch->mutable_settings() = SettingsOf(plan);
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const GroupRecord& record = step.groups[g];
    if (train.dynamic_sampling().max_refills() > 0 && !record.HasSpread()) continue;  // discarded
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

v1::GenerateRequest BuildGenerate(const CampaignPlan& plan, const StepRecord& step) {
  const v1::GenerateConfig& generate = plan.campaign.generate();
  v1::GenerateRequest request;
  request.set_seed(plan.campaign.seed());
  request.set_step(step.step);
  request.set_deterministic(plan.campaign.deterministic());
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
  for (size_t g = 0; g < step.groups.size(); ++g) {
    v1::PromptGroup group;
    const GroupRecord& record = step.groups[g];
    for (size_t s = 0; s < record.samples.size(); ++s) {
      if (!record.samples[s].completion) group.add_samples(static_cast<int>(s));
    }
    if (group.samples().empty()) continue;
    group.set_problem(static_cast<int>(g));
    for (const v1::Message& message : plan.ProblemOf(step.step, static_cast<int>(g)).messages) {
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
