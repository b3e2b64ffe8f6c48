// A World is a trainer, workers and a journal that live in one thread and one seed: a CampaignState
// talks to it in tests. Time is virtual; replies come after random delays, and, with faults left to
// spend, also twice, late, wrong or not at all. With absences left to spend, services are away for
// minutes, start late, and calls of every kind get no answer.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_FAKES_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_FAKES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/trainer_lease.h"
#include "coordinator/campaign/campaign_state.h"

namespace whetstone {

// A trainer, which several worlds may talk to: each holds one of its campaigns.
struct FakeTrainer {
  struct Policy {
    std::string campaign_id;
    std::string model;
    // These are the serialized requests of the updates applied, in order.
    std::vector<std::string> updates;
    std::optional<v1::UpdateName> last;
  };
  Policy policy;
  std::map<std::string, Policy> checkpoints;  // by path
  TrainerLease lease;
  uint64_t epochs = 0;
};

struct WorldOptions {
  uint64_t seed = 1;
  int workers = 1;
  // The workers share cores with the trainer, and have one slot each.
  bool shared = true;
  int slots = 2;  // of each worker that does not
  // So many faults may be spent; 0: everything works.
  int faults = 0;
  // So many absences may be spent besides; 0: who is lost is back soon, and answers.
  int absences = 0;
  int64_t steps = 6;
  int64_t warmup = 3;
  int group_size = 4;
  int prompts_per_step = 2;
  std::vector<std::string> sets = {};  // as --set
  // Measuring a program that contains this text ends the worker; empty: none does.
  std::string poison = {};
  // Worker 0 takes this much longer for every verdict.
  Seconds slow = 0;
  // This share of groups has the same program in all its rollouts.
  double flat = 0;
  // Between these times, counted from the world's beginning, workers can measure nothing.
  Seconds sick_from = 0, sick_until = 0;
  // A verdict takes up to this long.
  Seconds measure = 2;
  // A worker joins, drains or is removed so often.
  int moves = 0;
  // It is paused so often, each time for up to ten minutes.
  int pauses = 0;
  // It is paused between these times, counted from the world's beginning.
  Seconds pause_from = 0, pause_until = 0;
  // Another campaign's world has the same; borrowed. Null: it has one of its own.
  FakeTrainer* trainer = nullptr;
  std::string campaign_id = "sim-1";
  Seconds begins = 0;  // so much later than others
  bool steal = false;  // the trainer, with the first start
  // It goes on with these after its first crash, as by `whet resume --set`.
  std::vector<std::string> changes = {};
};

class World {
 public:
  explicit World(const WorldOptions& options);
  // Lives through the whole campaign, resuming after every crash. Returns the first broken promise,
  // or nothing.
  std::string Live();
  // The same for worlds that share a trainer, side by side.
  static std::string LiveTogether(const std::vector<World*>& worlds);

  // These say what happened.
  const std::vector<JournalEntry>& journal() const { return journal_; }
  // The console had one line for each update done.
  const std::vector<std::string>& lines() const { return lines_; }
  int crashes() const { return crashes_; }
  int measured() const { return measured_; }
  int trainer_losses() const { return losses_; }
  int away() const { return away_; }          // absences of a service
  int silent() const { return silent_; }      // calls without an answer
  int poisoned() const { return poisoned_; }  // workers ended by `poison`
  int hedges() const { return hedges_; }
  // Returns how many updates at most came between the policy that sampled and the one that learned.
  int64_t stalest() const { return stalest_; }
  int refilled() const { return refilled_; }  // steps with further groups
  int evaluated() const { return evaluated_; }
  bool changed() const { return !plan_.former.empty(); }
  int imitated() const { return imitated_; }  // rollouts learned again
  int parents() const { return parents_; }    // groups asked with a parent
  int repairs() const { return repairs_; }    // groups asked to mend what failed
  int joined() const { return joined_; }
  int left() const { return left_; }  // drained ones and removed ones
  int pauses() const { return pauses_; }
  Seconds lived() const { return now_ - kBegin - options_.begins; }
  // Each end of the campaign's process: of all but the last it was resumed.
  const std::vector<absl::Status>& ends() const { return ends_; }
  // What it waited for, each name once.
  const std::set<std::string>& waited() const { return waited_; }
  const CampaignPlan& plan() const { return plan_; }
  // The requests of the journal's updates, in order, as the journal gives them back.
  absl::StatusOr<std::vector<v1::UpdateRequest>> Requests() const;

 private:
  // There are this many different programs.
  static constexpr uint64_t kKinds = 8;

  struct Later {
    Seconds at = 0;
    uint64_t order = 0;
    CampaignEvent event;
    bool operator>(const Later& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };
  using Policy = FakeTrainer::Policy;
  struct Worker {
    Seconds back = 0;  // it is away until then
    std::set<std::string> known;
  };
  // A Member is a worker as the living coordinator knows it, by its index there.
  struct Member {
    size_t worker = 0;  // in workers_
    bool sent_away = false;
    std::optional<Seconds> told_at;  // when the core heard of that
    bool left = false;
  };

  void Start();
  void ChangeSettings();
  // Lives on to the next event, and tells whether there is more to come.
  bool Advance();
  // Returns the first broken promise at the end.
  std::string Judge();
  void Step(const std::vector<CampaignEvent>& events);
  void Do(const action::Record& a);
  void Do(const action::Probe& a);
  void Do(const action::LoadPolicy& a);
  void Do(const action::Generate& a);
  void Do(const action::Update& a);
  void Do(const action::ReplayUpdate& a);
  void Do(const action::SaveCheckpoint& a);
  void Do(const action::RemoveCheckpoints& a);
  void Do(const action::ReleaseTrainer& a);
  void Do(const action::PutProblem& a);
  void Do(const action::Measure& a);
  void Do(const action::CancelCall& a);
  void Do(const action::WorkerLeft& a);
  void Do(const action::StepDone& a) { lines_.push_back(a.line); }
  void Do(const action::NewIncumbent&) {}
  void Do(const action::Suspect&) {}
  void Do(const action::Notice& a);
  void Do(const action::Finish& a);
  // Returns when the next event is due.
  Seconds NextAt() const { return queue_.empty() ? now_ : queue_.front().at; }
  // The trainer's process ends: another one, which holds nothing, has its place.
  void EndTrainer();
  absl::Status Load(const action::LoadPolicy& a);
  void TellPolicy(v1::TrainerInfo* info) const;
  // Returns whether the trainer lets a call of `holder` through; if not, the call has failed.
  bool LetThrough(uint64_t call, const v1::Holder& holder);
  void Apply(uint64_t call, const v1::UpdateRequest& request);
  void CheckBatch(const v1::UpdateRequest& request);
  void CheckEvaluations();
  // A call comes to the service. Returns whether it is heard; if not, it fails or gets no answer.
  bool HearsTrainer(uint64_t call);
  bool HearsWorker(uint64_t call, int w);
  // The service is away for a while. Whoever calls is refused, and may have been told before.
  void SendTrainerAway();
  void SendWorkerAway(int w);
  // The calls get no answers; of some their caller hears that.
  void Interrupt(const std::set<uint64_t>& calls);
  // Returns when the coordinator that starts now hears that the service is there.
  Seconds HeardAt(Seconds back);
  // Returns whether the core has given the worker up.
  bool Gone(size_t w) const;
  void LoseTrainer();
  void LoseWorker(int w);
  void MoveWorkers();
  void Join();
  void SendAway(int w);
  // What an operator at `whet pause` does.
  void PauseAndUnpause();
  // A paused campaign begins nothing, and is not ended by anybody's patience.
  void CheckPause(const Action& action);
  Worker& WorkerAt(int w) { return workers_[members_[static_cast<size_t>(w)].worker]; }
  void CheckPromises();
  void Break(const std::string& promise);

  double Draw() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  // Spends a fault with this probability, and returns whether it did.
  bool Fault(double probability);
  // The same with an absence.
  bool Absence(double probability);
  // Takes the next event from the queue. It is dropped if nobody hears it.
  void Take(std::vector<CampaignEvent>* events);
  void After(Seconds delay, CampaignEvent event);
  v1::Verdict VerdictOf(const v1::MeasureRequest& request);

  static constexpr Seconds kBegin = 1000;

  const WorldOptions options_;
  std::mt19937_64 random_;
  CampaignPlan plan_;
  std::unique_ptr<CampaignState> state_;
  Seconds now_;
  uint64_t order_ = 0;
  std::vector<Later> queue_;  // a heap
  std::vector<JournalEntry> journal_;
  std::vector<std::string> lines_;
  size_t replayed_ = 0;  // entries of the journal when its replay was last looked at
  int faults_left_ = 0;
  int absences_left_ = 0;
  int away_ = 0;
  int silent_ = 0;
  int crashes_ = 0;
  int losses_ = 0;
  int measured_ = 0;
  int poisoned_ = 0;
  int hedges_ = 0;
  int64_t stalest_ = 0;
  int refilled_ = 0;
  int evaluated_ = 0;
  int imitated_ = 0;
  int parents_ = 0;
  int repairs_ = 0;
  int moves_left_ = 0;
  int joined_ = 0;
  int left_ = 0;
  int pauses_left_ = 0;
  int pauses_ = 0;
  std::optional<Seconds> unpause_at_;  // somebody has paused it until then
  std::optional<Seconds> paused_at_;   // when the core heard of that
  bool done_ = false;
  bool crash_ = false;
  std::string broken_;

  std::vector<absl::Status> ends_;
  std::set<std::string> waited_;

  FakeTrainer own_trainer_;
  FakeTrainer& trainer_;
  Seconds trainer_back_ = 0;                    // it is away until then
  Policy& policy_;                              // of trainer_
  std::map<std::string, Policy>& checkpoints_;  // of trainer_, by path
  std::vector<Worker> workers_;                 // all that ever were
  std::vector<size_t> worker_list_;             // those that get work, also after a crash
  std::vector<Member> members_;
  // The promise about the stopwatch is about these calls in flight: the trainer's computing ones,
  // timed measures.
  std::set<uint64_t> computing_;
  std::set<uint64_t> timing_;
  std::map<uint64_t, size_t> asked_;  // calls in flight to workers, with the worker's index
  std::set<uint64_t> silenced_;       // calls whose answers are lost
  std::set<std::string> judged_;      // candidate ids with a recorded verdict
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_FAKES_H_
