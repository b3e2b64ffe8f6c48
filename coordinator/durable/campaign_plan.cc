#include "coordinator/durable/campaign_plan.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/second_turn.h"
#include "common/status_macros.h"
#include "coordinator/durable/lr_schedule.h"
#include "coordinator/durable/step_record.h"

namespace whetstone {
namespace {

void Add(const char* role, std::string content, std::vector<v1::Message>* messages) {
  v1::Message& message = messages->emplace_back();
  message.set_role(role);
  message.set_content(std::move(content));
}

}  // namespace

const v1::Campaign& CampaignPlan::CampaignAt(int64_t step) const {
  for (const FormerCampaign& before : former) {
    if ((step < 0 ? -step : step) < before.until_step) return before.campaign;
  }
  return campaign;
}

std::span<const PlannedProblem> CampaignPlan::learned() const {
  return std::span(problems).first(problems.size() - evaluated().size());
}

std::span<const PlannedProblem> CampaignPlan::evaluated() const {
  return std::span(problems).last(static_cast<size_t>(campaign.eval().problems_size()));
}

const std::string& CampaignPlan::FileOf(size_t index) const {
  const size_t learned_count = learned().size();
  return index < learned_count ? campaign.problems(static_cast<int>(index))
                               : campaign.eval().problems(static_cast<int>(index - learned_count));
}

v1::UpdateName CampaignPlan::NameOf(int64_t position) const {
  CHECK(position >= 1 && position <= updates());
  v1::UpdateName name;
  const bool warm = position <= warmup_updates();
  name.set_phase(warm ? v1::UpdateName::WARMUP : v1::UpdateName::GRPO);
  name.set_step(warm ? position : position - warmup_updates());
  return name;
}

int64_t CampaignPlan::PositionOf(const v1::UpdateName& name) const {
  switch (name.phase()) {
    case v1::UpdateName::WARMUP:
      return name.step() <= warmup_updates() ? name.step() : updates() + 2;
    case v1::UpdateName::GRPO:
    case v1::UpdateName::EVAL:
      return warmup_updates() + name.step();
    default:
      return 0;
  }
}

int64_t CampaignPlan::TurnOf(int64_t step, int group_index) const {
  return (step - 1) * campaign.train().prompts_per_step() + group_index;
}

const PlannedProblem& CampaignPlan::ProblemOf(int64_t step, int group_index) const {
  if (IsEvaluation(step)) return evaluated()[static_cast<size_t>(group_index)];
  return learned()[static_cast<size_t>(TurnOf(step, group_index)) % learned().size()];
}

const std::vector<v1::Message>& CampaignPlan::MessagesOf(int64_t step, int group_index) const {
  const PlannedProblem& planned = ProblemOf(step, group_index);
  if (IsEvaluation(step) || planned.hinted.empty()) return planned.messages;
  const size_t round = static_cast<size_t>(TurnOf(step, group_index)) / learned().size();
  return planned.hinted[round % planned.hinted.size()];
}

std::vector<v1::Message> CampaignPlan::MessagesFrom(int64_t step, int group_index,
                                                    const SearchParent& parent) const {
  std::vector<v1::Message> messages = MessagesOf(step, group_index);
  if (!parent.failure.empty()) {
    Add("assistant", AnswerText(parent.source), &messages);
    Add("user", MendText(parent.failure), &messages);
    return messages;
  }
  // Blanks before the function are not always shown (coordinator/prompt/render.cc).
  const std::string reference(
      absl::StripLeadingAsciiWhitespace(ProblemOf(step, group_index).problem.reference()));
  std::string* const content = messages.back().mutable_content();
  const size_t at = content->find(reference);
  CHECK(at != std::string::npos && "every prompt shows its problem's reference");
  content->replace(at, reference.size(), std::string(absl::StripAsciiWhitespace(parent.source)));
  absl::StrAppendFormat(content,
                        "\nThis form of it is already %.1f times as fast as the first one; make "
                        "it faster still.",
                        parent.speedup);
  return messages;
}

bool CampaignPlan::EvaluationDue(int64_t position) const {
  if (!campaign.has_eval() || position < warmup_updates()) return false;
  // It stays the same.
  if (campaign.train().frozen()) return position == warmup_updates();
  // The end that a campaign had before it was extended is evaluated too, if it was reached.
  const int64_t step = position - warmup_updates();
  const v1::Campaign& at = CampaignAt(step);
  const int64_t every = at.eval().every();
  return step == at.train().steps() || (every > 0 && step % every == 0);
}

bool CampaignPlan::CheckpointDue(int64_t position) const {
  if (position < 1 || LearnedAt(position) < position) return false;
  if (position == warmup_updates() || position == updates()) return true;
  if (campaign.checkpoint().best_by() == "eval" && EvaluationDue(position)) return true;
  const int64_t step = position - warmup_updates();
  return step > 0 && step % campaign.checkpoint().every() == 0;
}

std::string CampaignPlan::CheckpointPath(int64_t position) const {
  const v1::UpdateName name = NameOf(position);
  if (name.phase() == v1::UpdateName::WARMUP) return absl::StrCat(checkpoint_dir, "/warmup");
  return absl::StrCat(checkpoint_dir, "/step-", name.step());
}

std::string CampaignPlan::ReferencePath() const {
  const v1::TrainConfig& train = campaign.train();
  if (train.kl_beta() == 0) return "";
  if (!train.kl_reference().empty()) return train.kl_reference();
  if (warmup_updates() == 0) return campaign.model();
  return warmup_checkpoint.empty() ? CheckpointPath(warmup_updates()) : warmup_checkpoint;
}

std::string CampaignPlan::CandidateId(int64_t step, int group_index, int sample) const {
  return absl::StrCat(campaign_id, "/", RolloutPlace(step, group_index, sample));
}

double CampaignPlan::LearningRateAt(int64_t position) const {
  const v1::UpdateName name = NameOf(position);
  if (name.phase() == v1::UpdateName::WARMUP) {
    return LearningRate(WarmupSchedule(campaign.warmup(), warmup_updates()), name.step());
  }
  return LearningRate(TrainSchedule(CampaignAt(name.step()).train()), name.step());
}

v1::UpdateName StepName(int64_t step) {
  v1::UpdateName name;
  name.set_phase(IsEvaluation(step) ? v1::UpdateName::EVAL : v1::UpdateName::GRPO);
  name.set_step(IsEvaluation(step) ? -step : step);
  return name;
}

std::string PhaseStep(const v1::UpdateName& name) {
  const char* const phase = name.phase() == v1::UpdateName::WARMUP ? "warm-up "
                            : name.phase() == v1::UpdateName::EVAL ? "evaluation at step "
                                                                   : "step ";
  return absl::StrCat(phase, name.step());
}

std::string RolloutPlace(int64_t step, int group_index, int sample) {
  const std::string place = IsEvaluation(step) ? absl::StrCat("eval-", -step) : absl::StrCat(step);
  return absl::StrCat(place, "/", group_index, "/", sample);
}

}  // namespace whetstone
