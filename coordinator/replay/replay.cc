#include "coordinator/replay/replay.h"

#include <google/protobuf/util/message_differencer.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/measured_metric.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
namespace {

absl::Status Difference(const std::string& what, const std::string& how) {
  return absl::DataLossError(
      absl::StrCat(what, " is not what the journal says (journal -> replay): ", how));
}

// Returns OK if both are equal to the bit, NaN and signs of zero included. It is not for messages
// with maps, whose order on the wire is any.
absl::Status Compare(const std::string& what, const google::protobuf::Message& recorded,
                     const google::protobuf::Message& replayed) {
  if (recorded.SerializeAsString() == replayed.SerializeAsString()) return absl::OkStatus();
  google::protobuf::util::MessageDifferencer differencer;
  // The report has a line for each difference: "modified: ids[17]: 345 -> 346".
  std::string report;
  differencer.ReportDifferencesToString(&report);
  if (differencer.Compare(recorded, replayed)) report = "a NaN or the sign of a zero";
  return Difference(what, report.substr(0, report.find('\n')));
}

bool SameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

absl::Status CompareResponses(const std::string& what, const v1::UpdateResponse& recorded,
                              const v1::UpdateResponse& replayed) {
  std::set<std::string> names;
  for (const auto* response : {&recorded, &replayed}) {
    for (const auto& [name, value] : response->metrics()) {
      if (!IsMeasured(name)) names.insert(name);
    }
  }
  const auto shown = [](const v1::UpdateResponse& response, const std::string& name) {
    const auto it = response.metrics().find(name);
    return it == response.metrics().end() ? std::string("none")
                                          : absl::StrFormat("%.17g", it->second);
  };
  for (const std::string& name : names) {
    const auto a = recorded.metrics().find(name), b = replayed.metrics().find(name);
    const bool both = a != recorded.metrics().end() && b != replayed.metrics().end();
    if (both && SameBits(a->second, b->second)) continue;
    return Difference(absl::StrCat(what, ": ", name),
                      absl::StrCat(shown(recorded, name), " -> ", shown(replayed, name)));
  }
  if (recorded.applied() != replayed.applied() ||
      recorded.skip_reason() != replayed.skip_reason()) {
    const auto outcome = [](const v1::UpdateResponse& response) {
      return absl::StrCat(response.applied() ? "applied" : "skipped",
                          response.skip_reason().empty() ? "" : ": ", response.skip_reason());
    };
    return Difference(what, absl::StrCat(outcome(recorded), " -> ", outcome(replayed)));
  }
  return absl::OkStatus();
}

// Cancels a stream that shows no sign of life for too long.
class SilenceWatch {
 public:
  explicit SilenceWatch(CallControl* control)
      : control_(control), heard_(Clock::now()), thread_([this] { Watch(); }) {}
  ~SilenceWatch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Heard() {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_ = Clock::now();
  }
  bool expired() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return expired_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Watch() {
    constexpr std::chrono::duration<double> kAllowed(kGenerateSilenceDeadline);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ended_ && !expired_) {
      changed_.wait_for(lock, std::chrono::seconds(1));
      expired_ = !ended_ && Clock::now() - heard_ > kAllowed;
    }
    if (expired_) control_->Cancel();
  }

  CallControl* const control_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // mutex_ protects these three.
  Clock::time_point heard_;
  bool ended_ = false;
  bool expired_ = false;
  std::thread thread_;
};

absl::Status Named(const absl::Status& status, const std::string& where) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

}  // namespace

Replay::Replay(const CampaignPlan* plan, int64_t updates_max, ReplayHooks hooks)
    : plan_(plan),
      updates_max_(updates_max),
      hooks_(std::move(hooks)),
      recorded_(plan),
      replayed_(plan) {}

std::string Replay::RolloutName(int64_t step, int group_index, int sample) const {
  return absl::StrCat(PhaseStep(StepName(step)), ", group ", group_index, " (",
                      plan_->ProblemOf(step, group_index).problem.id(), "), sample ", sample);
}

CallOptions Replay::Within(double deadline_s) const {
  return {std::chrono::milliseconds(static_cast<int64_t>(deadline_s * 1000)), hooks_.control};
}

absl::Status Replay::Begin() {
  if (hooks_.trainer == nullptr) return absl::OkStatus();
  v1::LoadCheckpointRequest request = BuildLoad(*plan_, plan_->campaign.model());
  request.set_campaign_id(hooks_.campaign_id);
  request.set_steal(hooks_.steal);
  ASSIGN_OR_RETURN(const v1::LoadCheckpointResponse loaded,
                   hooks_.trainer->LoadCheckpoint(request, Within(kLoadDeadline)));
  holder_ = loaded.holder();
  told_at_ = std::chrono::steady_clock::now();
  return CheckHeld(loaded);
}

void Replay::Release() {
  if (hooks_.trainer == nullptr) return;
  // The control may have been thrown.
  hooks_.trainer->GetInfo(BuildRelease(holder_), {std::chrono::seconds(2), nullptr}).IgnoreError();
}

absl::StatusOr<v1::TrainerInfo> Replay::Tell() {
  told_at_ = std::chrono::steady_clock::now();
  v1::TrainerInfoRequest request;
  *request.mutable_holder() = holder_;
  return hooks_.trainer->GetInfo(request, Within(kProbeDeadline));
}

absl::Status Replay::Take(const JournalEntry& entry) {
  const auto* checkpoint = std::get_if<CheckpointEntry>(&entry);
  // The checkpoint after the last update still counts.
  if (past_the_end() &&
      (checkpoint == nullptr || plan_->PositionOf(checkpoint->name) > updates_max_)) {
    return absl::OkStatus();
  }
  constexpr std::chrono::duration<double> kSilence(kSignOfLife);
  if (hooks_.trainer != nullptr && std::chrono::steady_clock::now() - told_at_ >= kSilence) {
    Tell().IgnoreError();  // the next call tells of what is wrong
  }
  RETURN_IF_ERROR(recorded_.Check(entry));
  if (const auto* update = std::get_if<UpdateEntry>(&entry)) RETURN_IF_ERROR(Update(*update));
  if (const auto* e = std::get_if<EvaluationEntry>(&entry)) RETURN_IF_ERROR(Evaluation(*e));
  if (checkpoint != nullptr) RETURN_IF_ERROR(SaveCheckpoint(*checkpoint));
  if (const auto* e = std::get_if<ChangeEntry>(&entry); e != nullptr && hooks_.on_step) {
    hooks_.on_step(ChangeText(*e));
  }
  recorded_.Apply(entry);
  return absl::OkStatus();
}

absl::Status Replay::End() { return past_the_end() ? absl::OkStatus() : CatchUp(); }

absl::Status Replay::CatchUp() {
  for (const StepRecord& recorded : recorded_.open_steps()) {
    const StepRecord& replayed = *replayed_.FindStep(recorded.step);
    size_t groups = 0;
    while (groups < replayed.groups.size()) {  // a refill follows from the verdicts
      groups = replayed.groups.size();
      RETURN_IF_ERROR(Generate(recorded.step));
      for (size_t g = 0; g < groups; ++g) {
        for (size_t s = 0; s < replayed.groups[g].samples.size(); ++s) {
          const std::optional<VerdictEntry>& verdict = recorded.groups[g].samples[s].verdict;
          if (verdict && !replayed.groups[g].samples[s].verdict) replayed_.Apply(*verdict);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Replay::Generate(int64_t step) {
  const std::string where = PhaseStep(StepName(step));
  const StepRecord& recorded_step = *recorded_.FindStep(step);
  v1::GenerateRequest request = BuildGenerate(*plan_, *replayed_.FindStep(step));
  *request.mutable_holder() = holder_;
  // A step that was cut off has not all of them.
  int64_t wanted = 0;
  for (v1::PromptGroup& group : *request.mutable_groups()) {
    const GroupRecord& recorded = recorded_step.groups[static_cast<size_t>(group.group_index())];
    const v1::PromptGroup missing = group;
    group.clear_samples();
    for (const int s : missing.samples()) {
      if (recorded.samples[static_cast<size_t>(s)].completion) group.add_samples(s);
    }
    wanted += group.samples_size();
  }
  if (wanted == 0) return absl::OkStatus();
  if (hooks_.trainer == nullptr) {
    TakeRecorded(request, step);
    return absl::OkStatus();
  }

  // They are compared in order once all are there: completions end in any order.
  std::map<int, v1::PromptTokens> prompts;
  std::map<std::pair<int, int>, v1::Completion> rollouts;
  CallControl own_control;
  CallControl* const control = hooks_.control != nullptr ? hooks_.control : &own_control;
  {
    SilenceWatch watch(control);
    const absl::Status status = hooks_.trainer->Generate(
        request,
        [&](const v1::GenerateEvent& event) {
          watch.Heard();
          if (event.has_prompt()) prompts[event.prompt().group_index()] = event.prompt();
          if (event.has_completion()) {
            const v1::Completion& completion = event.completion();
            rollouts[{completion.group_index(), completion.sample()}] = completion;
          }
          if (event.has_progress() && hooks_.on_status) {
            hooks_.on_status(absl::StrFormat("%s: generating again, %d of %d rollouts, %d tokens",
                                             where, event.progress().completions(), wanted,
                                             event.progress().tokens()));
          }
        },
        // A generation may take as long as it shows signs of life.
        {std::chrono::hours(24), control});
    if (watch.expired()) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "%s: Trainer.Generate gave no sign of life for %.0f s", where, kGenerateSilenceDeadline));
    }
    RETURN_IF_ERROR(Named(status, where));
  }
  for (const v1::PromptGroup& group : request.groups()) {
    const int g = group.group_index();
    const GroupRecord& recorded = recorded_step.groups[static_cast<size_t>(g)];
    if (recorded.prompt) {
      RETURN_IF_ERROR(
          Compare(absl::StrCat(where, ", prompt of group ", g), *recorded.prompt, prompts[g]));
      replayed_.Apply(PromptEntry{step, prompts[g]});
    }
    for (const int s : group.samples()) {
      if (rollouts.count({g, s}) == 0) {
        return absl::InternalError(
            absl::StrCat(RolloutName(step, g, s), ": the trainer did not generate it"));
      }
      const v1::Completion& replayed = rollouts[{g, s}];
      RETURN_IF_ERROR(Compare(RolloutName(step, g, s),
                              *recorded.samples[static_cast<size_t>(s)].completion, replayed));
      ++counts_.rollouts;
      counts_.tokens += TokenCount(replayed);
      replayed_.Apply(RolloutEntry{step, replayed});
    }
  }
  return absl::OkStatus();
}

void Replay::TakeRecorded(const v1::GenerateRequest& request, int64_t step) {
  for (const v1::PromptGroup& group : request.groups()) {
    const GroupRecord& recorded =
        recorded_.FindStep(step)->groups[static_cast<size_t>(group.group_index())];
    if (recorded.prompt) replayed_.Apply(PromptEntry{step, *recorded.prompt});
    for (const int s : group.samples()) {
      const v1::Completion& completion = *recorded.samples[static_cast<size_t>(s)].completion;
      ++counts_.rollouts;
      counts_.tokens += TokenCount(completion);
      replayed_.Apply(RolloutEntry{step, completion});
    }
  }
}

absl::Status Replay::Update(const UpdateEntry& entry) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string where = PhaseStep(entry.name);
  const ReplayCounts before = counts_;
  if (const int ranks = RanksOf(entry.response); ranks > 0) {
    ASSIGN_OR_RETURN(const v1::TrainerInfo trainer, Tell());
    RETURN_IF_ERROR(CheckRanks(ranks, trainer));
  }
  // A rollout that differs is named before the update that it is part of.
  if (recorded_.step() > 0) RETURN_IF_ERROR(CatchUp());
  ASSIGN_OR_RETURN(const v1::UpdateRequest recorded,
                   RecordedRequest(*plan_, recorded_, entry, /*exact=*/true));
  v1::UpdateRequest request = BuildUpdate(*plan_, replayed_);
  RETURN_IF_ERROR(
      Compare(absl::StrCat(where, ": the update that follows from its rollouts and verdicts"),
              recorded, request));
  const int64_t position = plan_->PositionOf(entry.name);
  absl::StatusOr<v1::UpdateResponse> response = entry.response;
  if (plan_->LearnedAt(position) == position) {
    *request.mutable_holder() = holder_;
    response = hooks_.trainer->Update(request, Within(kUpdateDeadline));
  }
  RETURN_IF_ERROR(Named(response.status(), where));
  RETURN_IF_ERROR(CompareResponses(where, entry.response, *response));
  const auto loss = response->metrics().find("loss");
  const std::string loss_text = loss == response->metrics().end()
                                    ? "nothing learned"
                                    : absl::StrFormat("loss %.9g", loss->second);
  replayed_.Apply(UpdateEntry{entry.name, entry.request_hash, *std::move(response), entry.row});
  ++counts_.updates;
  if (!hooks_.on_step) return absl::OkStatus();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const int64_t rollouts = counts_.rollouts - before.rollouts;
  hooks_.on_step(absl::StrFormat(
      "%s  equal: %s%s  %.1f s", where,
      rollouts > 0
          ? absl::StrCat(rollouts, " rollouts, ", counts_.tokens - before.tokens, " tokens, ")
          : "",
      loss_text, took.count()));
  return absl::OkStatus();
}

absl::Status Replay::Evaluation(const EvaluationEntry& entry) {
  const ReplayCounts before = counts_;
  RETURN_IF_ERROR(CatchUp());
  replayed_.Apply(entry);
  if (hooks_.on_step) {
    hooks_.on_step(absl::StrFormat("%s  equal: %d rollouts, %d tokens", PhaseStep(entry.name),
                                   counts_.rollouts - before.rollouts,
                                   counts_.tokens - before.tokens));
  }
  return absl::OkStatus();
}

absl::Status Replay::SaveCheckpoint(const CheckpointEntry& entry) {
  const std::string where = absl::StrCat(PhaseStep(entry.name), ": checkpoint");
  const std::filesystem::path original = plan_->CheckpointPath(replayed_.position());
  v1::SaveCheckpointRequest save;
  *save.mutable_holder() = holder_;
  save.set_path(absl::StrCat(hooks_.checkpoint_dir, "/", original.filename().string()));
  absl::StatusOr<v1::SaveCheckpointResponse> saved =
      hooks_.trainer->SaveCheckpoint(save, Within(kSaveDeadline));
  RETURN_IF_ERROR(Named(saved.status(), where));
  if (saved->checksum() != entry.checksum) {
    return Difference(absl::StrCat(where, " ", entry.path),
                      absl::StrCat("checksum ", entry.checksum, " -> ", saved->checksum(),
                                   DifferentFiles(entry.path, save.path())));
  }
  ++counts_.checkpoints;
  if (hooks_.keep_checkpoints) return absl::OkStatus();
  v1::RemoveCheckpointsRequest remove;
  *remove.mutable_holder() = holder_;
  remove.add_paths(save.path());
  return Named(hooks_.trainer->RemoveCheckpoints(remove, Within(kRemoveDeadline)).status(), where);
}

std::string Replay::DifferentFiles(const std::string& recorded, const std::string& replayed) const {
  const auto files = [](const std::string& directory) {
    const auto text = ReadFile(directory + "/resume/manifest.json");
    const auto json = nlohmann::json::parse(text.ok() ? *text : "", nullptr, false);
    return json.is_object() ? json.value("files", nlohmann::json::object())
                            : nlohmann::json::object();
  };
  const nlohmann::json a = files(recorded), b = files(replayed);
  // They were removed since, or are on another machine.
  if (a.empty() || b.empty()) return "";
  std::set<std::string> different;
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const auto& [name, digest] : from->items()) {
      if (!to->contains(name) || (*to)[name] != digest) different.insert(name);
    }
  }
  return absl::StrCat("; different: ", absl::StrJoin(different, ", "));
}

}  // namespace whetstone
