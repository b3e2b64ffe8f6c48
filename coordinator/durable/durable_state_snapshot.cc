// DurableState's snapshots.
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/durable_state.h"

namespace whetstone {
namespace {

constexpr int kSnapshotVersion = 3;

}  // namespace

v1::StateSnapshot DurableState::Snapshot() const {
  v1::StateSnapshot snapshot;
  snapshot.set_version(kSnapshotVersion);
  snapshot.set_position(position_);
  snapshot.set_evaluated(evaluated_);
  snapshot.set_ranks(ranks_);
  for (size_t i = 0; i < checkpoints_.size(); ++i) {
    v1::SnapshotCheckpoint* checkpoint = snapshot.add_checkpoints();
    *checkpoint->mutable_name() = checkpoints_[i].name;
    checkpoint->set_path(checkpoints_[i].path);
    checkpoint->set_checksum(checkpoints_[i].checksum);
    checkpoint->set_bytes(checkpoints_[i].bytes);
    if (checkpoint_rewards_[i]) checkpoint->set_reward(*checkpoint_rewards_[i]);
    if (checkpoint_evaluations_[i]) checkpoint->set_evaluation(*checkpoint_evaluations_[i]);
  }
  snapshot.set_reward_sum(reward_sum_);
  snapshot.set_rewarded_steps(rewarded_steps_);
  for (const auto& [id, entry] : incumbents_) {
    v1::SnapshotIncumbent* incumbent = snapshot.add_incumbents();
    incumbent->set_step(entry.step);
    incumbent->set_group_index(entry.group_index);
    incumbent->set_sample(entry.sample);
    incumbent->set_problem_id(id);
    incumbent->set_source(entry.source);
    *incumbent->mutable_verdict() = entry.verdict;
  }
  for (const auto& [key, calibration] : calibrations_) {
    v1::SnapshotCalibration* copy = snapshot.add_calibrations();
    copy->set_host_id(key.first);
    copy->set_problem_hash(key.second);
    *copy->mutable_calibration() = calibration;
  }
  for (const StepRecord& open : open_) {
    v1::SnapshotStep* step = snapshot.add_open_steps();
    step->set_step(open.step);
    step->set_prompts(open.prompts);
    step->set_rollouts(open.rollouts);
    step->set_verdicts(open.verdicts);
    for (const GroupRecord& group : open.groups) {
      v1::SnapshotGroup* copy = step->add_groups();
      if (group.policy) copy->set_policy(*group.policy);
      if (!group.parent) continue;
      copy->mutable_parent()->set_hash(group.parent->hash);
      copy->mutable_parent()->set_source(group.parent->source);
      copy->mutable_parent()->set_speedup(group.parent->speedup);
      copy->mutable_parent()->set_failure(group.parent->failure);
    }
  }
  for (const auto& [id, programs] : memory_) {
    for (const RememberedProgram& program : programs) {
      v1::SnapshotProgram* copy = snapshot.add_memory();
      copy->set_problem_id(id);
      copy->set_step(program.step);
      copy->set_group_index(program.group_index);
      copy->set_hash(program.hash);
      copy->set_speedup(program.speedup);
      *copy->mutable_rollout() = program.rollout;
    }
  }
  for (const auto& [id, archived] : archive_) {
    for (const ArchivedProgram& program : archived.programs) {
      v1::SnapshotArchived* copy = snapshot.add_archive();
      copy->set_problem_id(id);
      copy->set_step(program.step);
      copy->set_group_index(program.group_index);
      copy->set_sample(program.sample);
      copy->set_hash(program.hash);
      copy->set_object_hash(program.object_hash);
      copy->set_parent(program.parent);
      copy->set_source(program.source);
      copy->set_speedup(program.speedup);
      copy->set_groups(program.groups);
      copy->set_best_child(program.best_child);
    }
    for (const FailedProgram& program : archived.failed) {
      v1::SnapshotFailed* copy = snapshot.add_failed();
      copy->set_problem_id(id);
      copy->set_hash(program.hash);
      copy->set_source(program.source);
      copy->set_failure(program.failure);
      copy->set_groups(program.groups);
    }
  }
  for (const auto& [id, step] : first_right_) (*snapshot.mutable_first_right())[id] = step;
  snapshot.set_rollouts(rollouts_);
  for (const auto& [outcome, count] : verdicts_) (*snapshot.mutable_verdicts())[outcome] = count;
  return snapshot;
}

absl::StatusOr<DurableState> DurableState::BeginRestore(const CampaignPlan* plan,
                                                        const v1::StateSnapshot& snapshot) {
  if (snapshot.version() != kSnapshotVersion || snapshot.position() < 0 ||
      snapshot.position() > plan->updates()) {
    return absl::DataLossError(absl::StrCat("a snapshot of version ", snapshot.version(), " after ",
                                            snapshot.position(), " of ", plan->updates(),
                                            " updates"));
  }
  DurableState state(plan, snapshot.position(), snapshot.evaluated());
  state.ranks_ = snapshot.ranks();
  for (const v1::SnapshotCheckpoint& checkpoint : snapshot.checkpoints()) {
    state.checkpoints_.push_back(
        {checkpoint.name(), checkpoint.path(), checkpoint.checksum(), checkpoint.bytes()});
    state.checkpoint_rewards_.push_back(
        checkpoint.has_reward() ? std::optional<double>(checkpoint.reward()) : std::nullopt);
    state.checkpoint_evaluations_.push_back(checkpoint.has_evaluation()
                                                ? std::optional<double>(checkpoint.evaluation())
                                                : std::nullopt);
  }
  state.reward_sum_ = snapshot.reward_sum();
  state.rewarded_steps_ = snapshot.rewarded_steps();
  for (const v1::SnapshotIncumbent& incumbent : snapshot.incumbents()) {
    state.incumbents_[incumbent.problem_id()] = {
        incumbent.step(),   incumbent.group_index(), incumbent.sample(), incumbent.problem_id(),
        incumbent.source(), incumbent.verdict(),     /*accepted=*/true};
  }
  for (const v1::SnapshotCalibration& calibration : snapshot.calibrations()) {
    state.calibrations_[{calibration.host_id(), calibration.problem_hash()}] =
        calibration.calibration();
  }
  for (const v1::SnapshotProgram& program : snapshot.memory()) {
    state.memory_[program.problem_id()].push_back({program.step(), program.group_index(),
                                                   program.hash(), program.speedup(),
                                                   program.rollout()});
  }
  state.archive_.clear();
  for (const v1::SnapshotArchived& program : snapshot.archive()) {
    state.archive_[program.problem_id()].programs.push_back({.step = program.step(),
                                                             .group_index = program.group_index(),
                                                             .sample = program.sample(),
                                                             .hash = program.hash(),
                                                             .object_hash = program.object_hash(),
                                                             .parent = program.parent(),
                                                             .source = program.source(),
                                                             .speedup = program.speedup(),
                                                             .groups = program.groups(),
                                                             .best_child = program.best_child()});
  }
  for (const v1::SnapshotFailed& program : snapshot.failed()) {
    state.archive_[program.problem_id()].failed.push_back(
        {program.hash(), program.source(), program.failure(), program.groups()});
  }
  for (const auto& [id, step] : snapshot.first_right()) state.first_right_[id] = step;
  return state;
}

absl::Status DurableState::FinishRestore(const v1::StateSnapshot& snapshot) {
  bool same = static_cast<size_t>(snapshot.open_steps_size()) == open_.size();
  for (size_t i = 0; same && i < open_.size(); ++i) {
    const v1::SnapshotStep& step = snapshot.open_steps(static_cast<int>(i));
    StepRecord& open = open_[i];
    same = step.step() == open.step && step.prompts() == open.prompts &&
           step.rollouts() == open.rollouts && step.verdicts() == open.verdicts &&
           static_cast<size_t>(step.groups_size()) == open.groups.size();
    for (size_t g = 0; same && g < open.groups.size(); ++g) {
      const v1::SnapshotGroup& group = step.groups(static_cast<int>(g));
      open.groups[g].policy.reset();
      if (group.has_policy()) open.groups[g].policy = group.policy();
      open.groups[g].parent.reset();
      if (group.has_parent()) {
        open.groups[g].parent = {group.parent().hash(), group.parent().source(),
                                 group.parent().speedup(), group.parent().failure()};
      }
    }
  }
  if (!same) {
    return absl::DataLossError("the journal's entries of a step are not those of its snapshot");
  }
  rollouts_ = snapshot.rollouts();
  verdicts_.clear();
  for (const auto& [outcome, count] : snapshot.verdicts()) verdicts_[outcome] = count;
  return absl::OkStatus();
}

}  // namespace whetstone
