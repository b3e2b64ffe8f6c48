#include "coordinator/campaign/campaign_fakes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
namespace {

// The second id of completions that were sampled to be evaluated.
constexpr int kHeldOut = 77;
// Returns the call that the event is of.
std::optional<uint64_t> CallOf(const CampaignEvent& event) {
  return std::visit(
      [](const auto& e) -> std::optional<uint64_t> {
        if constexpr (requires { e.call; }) {
          return e.call;
        } else {
          return std::nullopt;
        }
      },
      event);
}

// Returns whether the call goes on after it.
bool IsOfStream(const CampaignEvent& event) {
  return std::holds_alternative<event::Prompt>(event) ||
         std::holds_alternative<event::Completion>(event) ||
         std::holds_alternative<event::Progress>(event);
}

// A campaign that takes longer hangs.
constexpr Seconds kPatience = 7 * 24 * 3600;

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      plan_(MakeTestPlan({.steps = options.steps,
                          .warmup = options.warmup,
                          .group_size = options.group_size,
                          .prompts_per_step = options.prompts_per_step,
                          .sets = options.sets})),
      now_(kBegin + options.begins),
      faults_left_(options.faults),
      absences_left_(options.absences),
      moves_left_(options.moves),
      pauses_left_(options.pauses),
      trainer_(options.trainer != nullptr ? *options.trainer : own_trainer_),
      policy_(trainer_.policy),
      checkpoints_(trainer_.checkpoints),
      workers_(static_cast<size_t>(options.workers)) {
  for (size_t w = 0; w < workers_.size(); ++w) worker_list_.push_back(w);
  plan_.campaign_id = options.campaign_id;
  if (options.trainer != nullptr) absl::StrAppend(&plan_.checkpoint_dir, "/", options.campaign_id);
}

bool World::Fault(double probability) {
  if (faults_left_ == 0 || Draw() >= probability) return false;
  --faults_left_;
  return true;
}

void World::After(Seconds delay, CampaignEvent event) {
  queue_.push_back({now_ + delay, ++order_, std::move(event)});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void World::Take(std::vector<CampaignEvent>* events) {
  std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
  CampaignEvent event = std::move(queue_.back().event);
  now_ = queue_.back().at;
  queue_.pop_back();
  const std::optional<uint64_t> call = CallOf(event);
  const bool silenced = call && silenced_.count(*call) > 0;
  if (silenced && !std::holds_alternative<event::CallFailed>(event)) return;
  events->push_back(std::move(event));
}

void World::Break(const std::string& promise) {
  if (broken_.empty()) broken_ = absl::StrCat("at ", now_ - kBegin, " s: ", promise);
}

// The coordinator starts, fresh or from what the journal holds.
void World::Start() {
  if (crashes_ == 1 && !changed() && !options_.changes.empty()) ChangeSettings();
  queue_.clear();  // answers to the one before reach nobody
  computing_.clear();
  timing_.clear();
  asked_.clear();
  silenced_.clear();
  members_.clear();
  unpause_at_.reset();  // a pause ends with its process
  paused_at_.reset();
  std::vector<std::string> names;
  for (const size_t worker : worker_list_) {
    members_.push_back({worker, false, {}, false});
    names.push_back(absl::StrCat("worker w", worker));
  }
  state_ = std::make_unique<CampaignState>(&plan_, names);
  DurableState durable(&plan_);
  for (const JournalEntry& entry : journal_) durable.Apply(entry);
  state_->Restore(std::move(durable));
  if (options_.steal && ends_.empty()) state_->StealTrainer();
  // Services of its own die with it, remote ones live on.
  if (options_.trainer == nullptr && Draw() < 0.5) EndTrainer();
  if (Absence(0.2)) SendTrainerAway();  // it starts late
  After(HeardAt(trainer_back_), event::ServiceReady{kTrainer});
  for (int w = 0; w < static_cast<int>(members_.size()); ++w) {
    if (Absence(0.1)) SendWorkerAway(w);
    After(HeardAt(WorkerAt(w).back), event::ServiceReady{w});
  }
  After(1, event::Tick{});
}

std::string World::Live() { return LiveTogether({this}); }

bool World::Advance() {
  if (queue_.empty()) {
    Break("nothing happens any more");
    return false;
  }
  std::vector<CampaignEvent> events;
  Take(&events);
  // What comes while the shell writes to its journal is seen together.
  const Seconds busy_until = now_ + (Draw() < 0.3 ? Draw() : 0);
  while (!queue_.empty() && queue_.front().at <= busy_until) Take(&events);
  if (lived() > kPatience) Break("the campaign hangs: " + state_->StatusLine(now_));
  for (const CampaignEvent& event : events) {
    if (!std::holds_alternative<event::Tick>(event)) continue;
    After(1, event::Tick{});
    if (Fault(0.01)) LoseTrainer();
    if (!members_.empty() && Fault(0.02)) {
      LoseWorker(static_cast<int>(random_() % members_.size()));
    }
    if (Absence(0.01)) SendTrainerAway();
    if (!members_.empty() && Absence(0.02)) {
      SendWorkerAway(static_cast<int>(random_() % members_.size()));
    }
    MoveWorkers();
    PauseAndUnpause();
  }
  Step(events);
  if (!broken_.empty()) return false;
  if (crash_ || Fault(0.004)) {
    crash_ = false;
    ++crashes_;
    Start();
  }
  return !done_;
}

std::string World::Judge() {
  if (!broken_.empty()) return broken_;
  // The policy saw every update exactly once and in order.
  std::vector<std::string> want;
  const absl::StatusOr<std::vector<v1::UpdateRequest>> requests = Requests();
  if (!requests.ok()) return std::string(requests.status().message());
  for (const v1::UpdateRequest& request : *requests) want.push_back(request.SerializeAsString());
  if (static_cast<int64_t>(want.size()) != plan_.updates()) return "not every update was journaled";
  // Of a frozen policy only the warm-up's.
  want.resize(static_cast<size_t>(plan_.LearnedAt(plan_.updates())));
  if (!want.empty() &&
      checkpoints_[plan_.CheckpointPath(plan_.LearnedAt(plan_.updates()))].updates != want) {
    return "the final checkpoint does not hold every update exactly once";
  }
  CheckEvaluations();
  return broken_;
}

// Every policy whose evaluation was due was evaluated once, and itself: each sample is its own.
void World::CheckEvaluations() {
  std::map<int64_t, int> samples;
  for (const JournalEntry& entry : journal_) {
    if (const auto* rollout = std::get_if<RolloutEntry>(&entry)) {
      if (!IsEvaluation(rollout->step)) continue;
      const int64_t policy = rollout->completion.ids(0) / static_cast<int64_t>(kKinds);
      const int64_t position = plan_.PositionOf(StepName(rollout->step));
      if (policy != plan_.LearnedAt(position)) Break("evaluated another policy");
      ++samples[rollout->step];
    }
    if (std::holds_alternative<EvaluationEntry>(entry)) ++evaluated_;
  }
  int due = 0;
  for (int64_t position = 0; position <= plan_.updates(); ++position) {
    if (!plan_.EvaluationDue(position)) continue;
    ++due;
    const int64_t evaluation = plan_.EvaluationAt(position);
    const int wanted =
        static_cast<int>(plan_.evaluated().size()) * plan_.CampaignAt(evaluation).eval().samples();
    if (samples[evaluation] != wanted) Break("an evaluation is not whole");
  }
  if (evaluated_ != due || samples.size() != static_cast<size_t>(due)) {
    Break(absl::StrCat(evaluated_, " evaluations, where ", due, " were due"));
  }
}

absl::StatusOr<std::vector<v1::UpdateRequest>> World::Requests() const {
  std::vector<v1::UpdateRequest> requests;
  DurableState durable(&plan_);
  for (const JournalEntry& entry : journal_) {
    if (const auto* update = std::get_if<UpdateEntry>(&entry)) {
      ASSIGN_OR_RETURN(v1::UpdateRequest request,
                       RecordedRequest(plan_, durable, *update, /*exact=*/true));
      requests.push_back(std::move(request));
    }
    durable.Apply(entry);
  }
  return requests;
}

void World::Step(const std::vector<CampaignEvent>& events) {
  for (const CampaignEvent& event : events) {
    // An event that ends a call strikes it from the books before the core can react.
    if (const std::optional<uint64_t> call = CallOf(event); call && !IsOfStream(event)) {
      computing_.erase(*call);
      timing_.erase(*call);
      asked_.erase(*call);
    }
    const auto told = [this](int worker) {
      Member& member = members_[static_cast<size_t>(worker)];
      if (!member.told_at) member.told_at = now_;
    };
    if (const auto* e = std::get_if<event::DrainWorker>(&event)) told(e->worker);
    if (const auto* e = std::get_if<event::RemoveWorker>(&event)) told(e->worker);
    if (std::holds_alternative<event::Pause>(event) && !paused_at_) paused_at_ = now_;
    if (std::holds_alternative<event::Unpause>(event)) paused_at_.reset();
  }
  const std::vector<Action> actions = state_->Handle(events, now_);
  // The shell journals the entries together, then acts; a crash falls between.
  for (const Action& action : actions) {
    if (const auto* record = std::get_if<action::Record>(&action)) Do(*record);
  }
  if (Fault(0.003)) {
    crash_ = true;
    return;
  }
  for (const Action& action : actions) {
    if (std::holds_alternative<action::Record>(action)) continue;
    CheckPause(action);
    std::visit([this](const auto& a) { Do(a); }, action);
  }
  CheckPromises();
}

void World::CheckPromises() {
  if (!state_->finished()) {
    const std::vector<Wait> waits = state_->Waits();
    for (const Wait& wait : waits) waited_.insert(wait.name);
    if (waits.empty()) Break("waiting for nothing: " + state_->StatusLine(now_));
    for (const Wait& wait : waits) {
      if (wait.name.empty() || !std::isfinite(wait.deadline) || wait.deadline <= now_ - 1.5) {
        Break("a wait without a living deadline: " + wait.name);
      }
    }
  }
  if (state_->durable().open_steps().size() >
      1 + static_cast<size_t>(plan_.campaign.train().max_staleness())) {
    Break("more steps are open than may be");
  }
  if (options_.shared && !computing_.empty() && !timing_.empty()) {
    Break("timing beside a computing trainer");
  }
  for (const Member& member : members_) {
    // The last verdict comes within this, its deadline included.
    constexpr Seconds kLastVerdict = 200;
    if (!member.left && member.told_at && now_ > *member.told_at + kLastVerdict &&
        !Gone(static_cast<size_t>(&member - members_.data()))) {
      Break(absl::StrCat("worker w", member.worker, " was sent away and stays"));
    }
  }
  if (order_ % 7 != 0 || journal_.size() == replayed_) return;  // what follows is costly
  replayed_ = journal_.size();
  DurableState replayed(&plan_);
  for (const JournalEntry& entry : journal_) replayed.Apply(entry);
  if (replayed.Fingerprint() != state_->durable().Fingerprint()) {
    Break("the journal's replay differs from the living state");
  }
}

void World::Do(const action::Record& a) {
  if (const auto* verdict = std::get_if<VerdictEntry>(&a.entry)) {
    if (!judged_.insert(verdict->verdict.candidate_id()).second) {
      Break("a second verdict for " + verdict->verdict.candidate_id());
    }
  }
  journal_.push_back(a.entry);
}

void World::Do(const action::Probe& a) {
  if (Fault(0.05)) return;  // it gets no answer, and its deadline must end it
  if (a.service == kTrainer) {
    if (!HearsTrainer(a.call)) return;
    v1::TrainerInfo info;
    info.set_host_id("trainer-host");
    info.set_device("cpu");
    info.set_threads(2);
    trainer_.lease.Hear(HolderOf(a.holder), /*release=*/false, now_);
    TellPolicy(&info);
    return After(0.1 * Draw(), event::TrainerProbed{a.call, info});
  }
  if (!HearsWorker(a.call, a.service)) return;
  const size_t worker = members_[static_cast<size_t>(a.service)].worker;
  v1::WorkerInfo info;
  info.set_host_id(options_.shared ? "trainer-host" : absl::StrCat("host-", worker));
  info.set_hostname(absl::StrCat("w", worker));
  info.set_cpu_model(worker % 3 == 2 ? "old" : "new");
  info.set_cores(2);
  info.set_slots(options_.shared ? 1 : options_.slots);
  After(0.1 * Draw(), event::WorkerProbed{a.call, info});
}

void World::Do(const action::LoadPolicy& a) {
  computing_.insert(a.call);
  if (!HearsTrainer(a.call)) return;
  if (Fault(0.05)) {
    return After(1, event::CallFailed{a.call, absl::UnavailableError("connection reset")});
  }
  const TrainerHolder by{plan_.campaign_id, ++trainer_.epochs};
  absl::Status loaded = trainer_.lease.Claim(by, a.steal, now_);
  if (loaded.ok()) {
    loaded = Load(a);
    trainer_.lease.Settle(by, loaded.ok(), now_);
  }
  if (!loaded.ok()) return After(1, event::CallFailed{a.call, loaded});
  if (Fault(0.05)) {  // the answer is lost
    return After(1, event::CallFailed{a.call, absl::UnavailableError("connection reset")});
  }
  event::PolicyLoaded answer{a.call};
  answer.response.mutable_holder()->set_campaign_id(by.campaign_id);
  answer.response.mutable_holder()->set_epoch(by.epoch);
  TellPolicy(answer.response.mutable_info());
  After(2 * Draw(), std::move(answer));
}

void World::Do(const action::Generate& a) {
  computing_.insert(a.call);
  if (!HearsTrainer(a.call) || !LetThrough(a.call, a.request.holder())) return;
  Seconds at = 0;
  for (const v1::PromptGroup& group : a.request.groups()) {
    if (a.request.step() > 0) {
      const auto step = static_cast<int64_t>(a.request.step());
      const std::vector<v1::Message>& plain = plan_.MessagesOf(step, group.group_index());
      parents_ += group.messages(0).content() != plain[0].content() ? 1 : 0;
      repairs_ += group.messages_size() > static_cast<int>(plain.size()) ? 1 : 0;
    }
    v1::PromptTokens prompt;
    prompt.set_group_index(group.group_index());
    prompt.add_ids(group.group_index() + 7);
    After(at, event::Prompt{a.call, prompt});
    for (const int sample : group.samples()) {
      v1::Completion completion;
      completion.set_group_index(group.group_index());
      completion.set_sample(sample);
      // A completion depends on the key alone, as the trainer promises; there are few different
      // programs.
      std::mt19937_64 key(
          plan_.campaign.seed() * 1000003 +
          static_cast<uint64_t>(a.request.step() * 8191 + group.group_index() * 127 + sample));
      std::mt19937_64 group_key(static_cast<uint64_t>(a.request.step() * 31 + group.group_index()));
      const bool flat = static_cast<double>(group_key() % 1000) < 1000 * options_.flat;
      const uint64_t kind = (flat ? group_key() : key()) % kKinds;
      // The ids also say how many updates the completion's policy has seen.
      completion.add_ids(static_cast<int>(kind + kKinds * policy_.updates.size()));
      completion.add_sampling_logprobs(-1);
      if (a.request.step() == 0) {
        completion.add_ids(kHeldOut);
        completion.add_sampling_logprobs(-1);
      }
      completion.set_text(kind == 0 ? "no code here"
                                    : absl::StrCat("```cpp\nint program_", kind, "();\n```"));
      completion.set_finish(kind == 1   ? v1::Completion::LENGTH
                            : kind == 2 ? v1::Completion::DEADLINE
                                        : v1::Completion::STOP);
      at += Draw();
      After(at, event::Completion{a.call, completion});
      if (Fault(0.02)) After(at + Draw(), event::Completion{a.call, completion});  // twice
      if (Fault(0.01)) {
        return After(at + 0.1, event::CallFailed{a.call, absl::UnavailableError("stream broke")});
      }
    }
  }
  if (Fault(0.02)) return;  // it falls silent, and its deadline must end it
  After(at + 0.2, event::GenerateEnded{a.call});
  if (Fault(0.02)) After(at + 0.3, event::GenerateEnded{a.call});
}

void World::Apply(uint64_t call, const v1::UpdateRequest& request) {
  computing_.insert(call);
  if (policy_.campaign_id != plan_.campaign_id && !policy_.campaign_id.empty()) {
    Break("it updates the policy of " + policy_.campaign_id);
  }
  const int64_t position = plan_.PositionOf(request.name());
  const auto done = static_cast<int64_t>(policy_.updates.size());
  if (policy_.model.empty() || (position != done + 1 && position != done)) {
    return After(0.1, event::CallFailed{call, absl::FailedPreconditionError("not the successor")});
  }
  if (Fault(0.03)) {  // the request is lost
    return After(1, event::CallFailed{call, absl::UnavailableError("connection reset")});
  }
  if (position == done + 1) {
    CheckBatch(request);
    policy_.updates.push_back(request.SerializeAsString());
    policy_.last = request.name();
  }
  if (Fault(0.03)) {  // the answer is lost
    return After(1, event::CallFailed{call, absl::UnavailableError("connection reset")});
  }
  v1::UpdateResponse response;
  *response.mutable_name() = request.name();
  response.set_applied(true);
  (*response.mutable_metrics())["loss"] = 0.5;
  if (request.profile()) {
    (*response.mutable_metrics())["profile/head_s"] = 0.5;
    (*response.mutable_metrics())["profile/computed_s"] = 0.75;
    response.set_bottleneck("The longest part is head.");
  }
  const Seconds delay = 3 * Draw();
  After(delay, event::UpdateDone{call, response});
  if (Fault(0.02)) After(delay + Draw(), event::UpdateDone{call, response});
}

void World::Do(const action::Update& a) {
  const int64_t position = plan_.PositionOf(a.request.name());
  if (plan_.LearnedAt(position) < position) Break("a frozen policy learns");
  if (!HearsTrainer(a.call) || !LetThrough(a.call, a.request.holder())) return;
  v1::UpdateRequest request = a.request;
  request.clear_holder();
  Apply(a.call, request);
}

void World::Do(const action::ReplayUpdate& a) {
  if (!HearsTrainer(a.call) || !LetThrough(a.call, a.holder)) return;
  const absl::StatusOr<std::vector<v1::UpdateRequest>> requests = Requests();
  if (!requests.ok()) return Break(std::string(requests.status().message()));
  for (const v1::UpdateRequest& request : *requests) {
    if (plan_.PositionOf(request.name()) == plan_.PositionOf(a.name)) {
      return Apply(a.call, request);
    }
  }
  Break("asked to replay an update the journal does not hold");
}

void World::Do(const action::SaveCheckpoint& a) {
  computing_.insert(a.call);
  if (!HearsTrainer(a.call) || !LetThrough(a.call, a.holder)) return;
  if (Fault(0.05)) {
    return After(1, event::CallFailed{a.call, absl::UnavailableError("connection reset")});
  }
  checkpoints_[a.path] = policy_;
  v1::SaveCheckpointResponse response;
  response.set_path(a.path);
  response.set_checksum(absl::StrCat(policy_.updates.size()));
  After(Draw(), event::CheckpointSaved{a.call, response});
}

void World::Do(const action::RemoveCheckpoints& a) {
  computing_.insert(a.call);
  if (!HearsTrainer(a.call) || !LetThrough(a.call, a.holder)) return;
  v1::RemoveCheckpointsResponse response;
  for (const std::string& path : a.paths) {
    if (Fault(0.05)) {
      response.add_failures(absl::StrCat("cannot remove ", path));
    } else {
      checkpoints_.erase(path);
    }
  }
  if (Fault(0.05)) {
    return After(1, event::CallFailed{a.call, absl::UnavailableError("connection reset")});
  }
  After(Draw(), event::CheckpointsRemoved{a.call, response});
}

void World::Do(const action::PutProblem& a) {
  if (!a.has_calibration) timing_.insert(a.call);
  if (members_[static_cast<size_t>(a.worker)].told_at) Break("a problem for one that leaves");
  if (!HearsWorker(a.call, a.worker)) return;
  Worker& worker = WorkerAt(a.worker);
  if (Fault(0.03)) {
    return After(0.1, event::CallFailed{a.call, absl::UnavailableError("connection reset")});
  }
  worker.known.insert(plan_.problems[a.problem].hash);
  v1::Calibration calibration;
  calibration.mutable_expert()->set_outcome(v1::CORRECT);
  calibration.mutable_expert()->set_speedup(4);
  calibration.set_noise_band(0.01);
  After(Draw(), event::ProblemKnown{a.call, calibration});
}

v1::Verdict World::VerdictOf(const v1::MeasureRequest& request) {
  v1::Verdict verdict;
  verdict.set_candidate_id(request.candidate_id());
  const size_t kind = std::hash<std::string>()(request.source()) % 5;
  const v1::Outcome outcomes[] = {v1::CORRECT, v1::CORRECT, v1::WRONG_ANSWER, v1::COMPILE_ERROR,
                                  v1::CRASH};
  verdict.set_outcome(outcomes[kind]);
  if (verdict.outcome() == v1::CORRECT) {
    verdict.set_timed(request.time());
    const double speedup = 1 + static_cast<double>(kind) + 0.2 * Draw();
    verdict.set_speedup(speedup);
    verdict.set_speedup_low(speedup * 0.99);
    verdict.set_speedup_high(speedup * 1.01);
  } else {
    verdict.set_detail("it is wrong");
  }
  const bool sick = now_ - kBegin >= options_.sick_from && now_ - kBegin < options_.sick_until;
  if (sick) verdict.set_detail("the disk is full");
  if (sick || Fault(0.03)) verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
  if (verdict.outcome() == v1::CORRECT && Fault(0.02)) verdict.set_outcome(v1::SUSPECT);
  return verdict;
}

void World::Do(const action::Measure& a) {
  if (a.request.time()) timing_.insert(a.call);
  ++measured_;
  if (judged_.count(a.request.candidate_id()) > 0) {
    Break("measured again: " + a.request.candidate_id());
  }
  if (members_[static_cast<size_t>(a.worker)].told_at) Break("work for one that leaves");
  if (!HearsWorker(a.call, a.worker)) return;
  Worker& worker = WorkerAt(a.worker);
  if (worker.known.count(a.request.problem_hash()) == 0) {
    return After(0.1, event::CallFailed{a.call, absl::FailedPreconditionError("unknown problem")});
  }
  if (!options_.poison.empty() && absl::StrContains(a.request.source(), options_.poison)) {
    ++poisoned_;
    return LoseWorker(a.worker);
  }
  const v1::Verdict verdict = VerdictOf(a.request);
  if (Fault(0.03)) {  // it comes after its deadline and another attempt
    return After(400 * Draw(), event::VerdictArrived{a.call, verdict});
  }
  if (Fault(0.03)) {
    return After(Draw(), event::CallFailed{a.call, absl::UnavailableError("connection reset")});
  }
  const Seconds delay = options_.measure * Draw() +
                        (members_[static_cast<size_t>(a.worker)].worker == 0 ? options_.slow : 0);
  After(delay, event::VerdictArrived{a.call, verdict});
  if (Fault(0.03)) After(delay + Draw(), event::VerdictArrived{a.call, verdict});  // twice
}

void World::Do(const action::Notice& a) {
  hedges_ += absl::StrContains(a.text, "; asking worker ") ? 1 : 0;
}

// An answer that is under way still arrives.
void World::Do(const action::CancelCall& a) {
  computing_.erase(a.call);
  timing_.erase(a.call);
}

void World::Do(const action::Finish& a) {
  ends_.push_back(a.status);
  if (!a.status.ok() && a.status.message().empty()) Break("it ends without a reason");
  if (a.status.ok()) {
    done_ = true;
  } else {
    crash_ = true;  // the operator resumes
  }
}

}  // namespace whetstone
