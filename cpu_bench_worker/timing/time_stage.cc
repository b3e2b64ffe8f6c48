#include "cpu_bench_worker/timing/time_stage.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "common/philox.h"
#include "cpu_bench_worker/host/urgent_thread.h"
#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/timing/played_rounds.h"

namespace whetstone {
namespace {

constexpr int kFloorBells = 7;
constexpr int kSettlingRounds = 3;
// Time lost beyond what waking costs that spoils a turn; less is the scatter of waking.
constexpr double kLostNsMin = 10'000;
// A rough floor for planning, before it is measured.
constexpr double kFloorGuessNs = 5'000;
constexpr double kThreadedFloorGuessNs = 25'000;

struct SizeData {
  int calls = 1;
  int calls_max = 1;      // that the first pair has room for
  int in_pair = 0;        // rounds of the pair that runs
  int alone_in_pair = 0;  // of those: that had the core for themselves
  int redone = 0;
  int clock_changed = 0;  // of `redone`
};

template <typename Value>
double MedianOf(const std::vector<Turn>& turns, const Value& value) {
  std::vector<double> values;
  for (const Turn& turn : turns) values.push_back(value(turn));
  return Median(std::move(values));
}

class Stage {
 public:
  Stage(Trial* trial, const std::vector<CallShape>& sizes,
        const std::vector<CallEstimate>& estimates, const TimeOptions& options, TimeReport* report)
      : trial_(trial),
        sizes_(sizes),
        budget_ns_(std::min(options.budget_s, kTimeBudgetSeconds) * 1e9),
        until_(options.until),
        far_(options.until == Until::kClear && FarApart(estimates)),
        report_(report),
        rng_(trial->seed(), {0x71ED, 0, 0, 0}),
        begin_ns_(RawNowNs()),
        data_(sizes.size()),
        turns_before_s_(trial->turns_s()),
        all_rounds_(sizes.size()) {
    WatchCore(options);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const CallEstimate& e = estimates[i];
      const CallEstimate half{.reference_ns = e.reference_ns / 2,
                              .candidate_ns = e.candidate_ns / 2};
      const double guess_ns = threaded() ? kThreadedFloorGuessNs : kFloorGuessNs;
      data_[i].calls = Calls(e, guess_ns, sizes[i]);
      data_[i].calls_max = std::max(data_[i].calls, Calls(half, guess_ns / 2, sizes[i]));
    }
  }

  std::optional<Failure> Run() {
    for (int pair = 0; WantsMore(pair); ++pair) {
      pair_end_ns_ = budget_ns_ * std::min(pair + 1, kProcessPairs) / kProcessPairs;
      if (auto failure = RunPair()) return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      if (ElapsedNs() >= budget_ns_) break;
      if (until_ == Until::kClear && WantsMore(pair + 1) && Clear()) {
        report_->stopped_early = true;
        break;
      }
    }
    Summarize();
    return std::nullopt;
  }

 private:
  static double SecondsSince(uint64_t begin_ns) {
    return static_cast<double>(RawNowNs() - begin_ns) / 1e9;
  }
  double ElapsedNs() const { return static_cast<double>(RawNowNs() - begin_ns_); }

  int Calls(const CallEstimate& estimate, double floor_ns, const CallShape& size) const {
    const double batch_ns = far_ ? kBatchNsMinFar : kBatchNsMin;
    return CallsPerBell(estimate, floor_ns, size.bytes,
                        threaded() ? kBatchThreaded * batch_ns : batch_ns);
  }

  CallBatch Batch(size_t size, int calls, uint64_t seed) const {
    return {&trial_->problem().arguments, sizes_[size], calls, Placement{.seed = seed}};
  }

  std::optional<Failure> RunPair() {
    // Fresh placement for every pair; one batch a size, refilled for every round. The first pair
    // has room for more calls than were guessed.
    std::vector<CallBatch> batches, room;
    std::vector<uint64_t> seeds;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      seeds.push_back(rng_.Next64());
      batches.push_back(Batch(i, data_[i].calls, seeds[i]));
      data_[i].in_pair = data_[i].alone_in_pair = 0;
      if (settled_ || data_[i].calls_max == data_[i].calls) continue;
      room.push_back(Batch(i, data_[i].calls_max, seeds[i]));
      if (!room.back().in_place()) continue;
      room.pop_back();
      data_[i].calls_max = data_[i].calls;
    }
    std::vector<CallBatch*> borrowed;
    for (std::vector<CallBatch>* some : {&batches, &room})
      for (CallBatch& batch : *some) borrowed.push_back(&batch);
    const uint64_t start_ns = RawNowNs();
    if (auto failure = trial_->FreshPair(borrowed, /*urgent=*/true)) return failure;
    report_->start_s += SecondsSince(start_ns);
    ++report_->process_pairs;
    room.clear();

    // Warm-up: code, page tables and branch predictors; and the harness floor of these processes.
    for (CallBatch& batch : batches) {
      Round round;
      if (auto failure = JudgedRound(&batch, /*oracle=*/true, &round)) return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
    }
    if (auto failure = MeasureFloors(batches[0])) return failure;
    if (!settled_) {
      settled_ = true;
      if (auto failure = Settle(&batches)) return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      if (!AdoptCalls(seeds, &batches)) return RunPair();
    }

    for (int r = 0; r < rounds_; ++r)
      for (size_t i = 0; i < batches.size(); ++i)
        if (auto failure = TimedRound(i, &batches[i]); failure || !report_->first_bad.empty())
          return failure;
    return MissingRounds(&batches);
  }

  std::optional<Failure> MeasureFloors(const CallBatch& batch) {
    std::vector<Turn> floors;
    // The reference's floor for both: both run the same whet-kernel, equal code then has equal
    // floors, and a candidate that took over its loop could answer empty bells late, to have more
    // subtracted from its time.
    for (int i = 0; i < kFloorBells; ++i) {
      Turn turn;
      if (auto failure = trial_->Floor(batch, Side::kReference, &turn)) return failure;
      floors.push_back(turn);
    }
    floor_ns_ = MedianOf(floors, [this](const Turn& turn) { return ClockNs(turn); });
    cpu_floor_ns_ = MedianOf(floors, [](const Turn& turn) { return turn.cpu_ns; });
    lost_floor_ns_ = MedianOf(floors, [](const Turn& turn) { return turn.LostNs(); });
    return std::nullopt;
  }

  // Gives the batches as many calls as settling found; false if this pair has no room for them.
  bool AdoptCalls(const std::vector<uint64_t>& seeds, std::vector<CallBatch>* batches) const {
    for (size_t i = 0; i < batches->size(); ++i) {
      const CallBatch& batch = (*batches)[i];
      if (data_[i].calls > data_[i].calls_max) return false;
      // Large inputs have their place from the start of the pair.
      if (batch.in_place() && data_[i].calls != batch.calls()) return false;
    }
    for (size_t i = 0; i < batches->size(); ++i)
      if (data_[i].calls != (*batches)[i].calls())
        (*batches)[i] = Batch(i, data_[i].calls, seeds[i]);
    return true;
  }

  // Again, what a change of the clock has spoiled; more, where some rounds shared their core.
  std::optional<Failure> MissingRounds(std::vector<CallBatch>* batches) {
    for (size_t i = 0; i < batches->size(); ++i) {
      for (;;) {
        if (played_.has_value()) Look();
        if (EnoughInPair(data_[i])) break;
        if (auto failure = TimedRound(i, &(*batches)[i]); failure || !report_->first_bad.empty())
          return failure;
      }
    }
    return std::nullopt;
  }

  bool EnoughInPair(const SizeData& data) const {
    if (data.in_pair < rounds_) return false;
    if (data.alone_in_pair >= rounds_) return true;
    // A neighbour who was there all the time will be.
    return data.alone_in_pair == 0 || data.in_pair >= kRoundsStretched * rounds_ ||
           ElapsedNs() >= pair_end_ns_;
  }

  // How many calls share a bell decides which caches hold their data, so it must not hang on one
  // call's luck: the check stage's estimates include waking, which takes longer than a small
  // kernel. Settles it with the shortest of some rounds, and with it whether the candidate is far
  // from the reference, and how many rounds a pair has.
  std::optional<Failure> Settle(std::vector<CallBatch>* batches) {
    std::vector<CallEstimate> shortest(batches->size(),
                                       {.reference_ns = 1e12, .candidate_ns = 1e12});
    std::vector<double> call_ns;  // of both members, filling and judging
    for (size_t i = 0; i < batches->size(); ++i) {
      CallBatch& batch = (*batches)[i];
      CallEstimate& least = shortest[i];
      const uint64_t begin = RawNowNs();
      for (int r = 0; r < kSettlingRounds; ++r) {
        Round round;
        if (auto failure = JudgedRound(&batch, /*oracle=*/false, &round)) return failure;
        if (!report_->first_bad.empty()) return std::nullopt;
        least.reference_ns = std::min(least.reference_ns, ClockNs(round.reference));
        least.candidate_ns = std::min(least.candidate_ns, ClockNs(round.candidate));
      }
      call_ns.push_back(static_cast<double>(RawNowNs() - begin) / kSettlingRounds / batch.calls());
      least.reference_ns = (least.reference_ns - floor_ns_) / batch.calls();
      least.candidate_ns = (least.candidate_ns - floor_ns_) / batch.calls();
    }
    far_ = far_ && FarApart(shortest);
    double round_ns = 0;
    for (size_t i = 0; i < data_.size(); ++i) {
      data_[i].calls = Calls(shortest[i], /*floor_ns=*/0, sizes_[i]);
      round_ns += call_ns[i] * data_[i].calls;
    }
    rounds_ = RoundsPerPair(round_ns, budget_ns_ - ElapsedNs(), far_ ? kRoundsMaxFar : kRoundsMax);
    return std::nullopt;
  }

  void WatchCore(const TimeOptions& options) {
    const SlotCores& cores = trial_->context().cores;
    if (options.watch == nullptr && cores.apart && !threaded()) {
      // Without one, rounds count as they come.
      auto own = CoreWatch::Start(cores.kernel[0]);
      if (own.ok()) own_watch_ = *std::move(own);
    }
    watch_ = options.watch != nullptr ? options.watch : own_watch_.get();
    width_ = options.width != nullptr ? options.width : &own_width_;
  }

  // Looks at the core between the last round and the next: the last one counts, or is to be played
  // again.
  void Look() {
    if (watch_ == nullptr) return CountOrRedo(/*changed=*/false, /*shared=*/false);
    const CoreSpeed before = std::exchange(speed_, watch_->Look());
    const bool shared = width_->Shared(speed_);
    const bool shared_before = std::exchange(shared_, shared);
    CountOrRedo(clock_.Changed(before, speed_), shared_before || shared);
  }

  void CountOrRedo(bool changed, bool shared) {
    if (!played_.has_value()) return;
    PlayedRound played = *std::exchange(played_, std::nullopt);
    SizeData& data = data_[played.size];
    if (changed && MayRedo(data)) {
      ++data.redone;
      ++data.clock_changed;
      return;
    }
    played.shared = shared;
    all_rounds_.Add(played);
    ++data.in_pair;
    data.alone_in_pair += shared ? 0 : 1;
  }

  // On a machine that is never quiet, a disturbed round is better than none.
  bool MayRedo(const SizeData& data) const {
    return data.redone < kRedoneMax && ElapsedNs() < budget_ns_;
  }

  // Plays one round on fresh inputs and judges it.
  std::optional<Failure> JudgedRound(CallBatch* batch, bool oracle, Round* round) {
    Look();
    if (auto failure = trial_->Fill(rng_.Next64(), FillStyle::kPlain, batch)) return failure;
    const RoundOptions options{.candidate_first = rng_.Below(2) == 0, .oracle = oracle};
    if (auto failure = trial_->Play(*batch, options, round)) return failure;
    ++report_->rounds;
    if (round->right_calls == batch->calls())
      ++report_->rounds_right;
    else
      report_->first_bad = round->first_bad;
    return std::nullopt;
  }

  std::optional<Failure> TimedRound(size_t size, CallBatch* batch) {
    SizeData& data = data_[size];
    for (;;) {
      Round round;
      if (auto failure = JudgedRound(batch, /*oracle=*/false, &round)) return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      const bool disturbed = Disturbed(round.reference) || Disturbed(round.candidate);
      if (disturbed && MayRedo(data)) {
        ++data.redone;
        continue;
      }
      // What is left of a batch is never less than half of it: a floor that large was a hiccup.
      const double floor =
          std::min(floor_ns_, std::min(ClockNs(round.reference), ClockNs(round.candidate)) / 2);
      const double calls = data.calls;
      const double r = WorkNs(round.reference, floor) / calls;
      const double c = WorkNs(round.candidate, floor) / calls;
      played_ = PlayedRound{
          .size = size, .pair = report_->process_pairs, .reference_ns = r, .candidate_ns = c};
      return std::nullopt;
    }
  }

  bool threaded() const { return trial_->problem().problem.compile().threads() > 1; }

  // What the clock says, without the time that another program had the core: on a machine that is
  // never quiet, disturbed rounds are taken in the end, and this is what keeps them usable.
  double ClockNs(const Turn& turn) const {
    return threaded() ? turn.ns : std::max(1.0, turn.ns - turn.waited_ns);
  }

  // Something else had one of the cores: another program, or, by more lost time than waking costs,
  // the hypervisor.
  bool Disturbed(const Turn& turn) const {
    const double lost_ns = threaded() ? 0 : turn.LostNs() - lost_floor_ns_;
    return turn.disturbed || lost_ns > std::max(kLostNsMin, turn.ns / 20);
  }

  // A turn's own time. The clock stops at the answer, which a child may give some microseconds
  // before it is done and still be asleep when it is looked for; the kernel's account of its time
  // on the core goes on until it sleeps. (Several threads spend more of that than time passes.)
  double WorkNs(const Turn& turn, double floor) const {
    const double by_clock = ClockNs(turn) - floor;
    return threaded() ? by_clock : std::max(by_clock, turn.cpu_ns - cpu_floor_ns_);
  }

  // Whether a neighbour who is there now will leave, by how it was of late.
  bool MayBeAlone() const { return width_->AloneShare() >= kAloneShareMin; }

  // Whether `pairs` that are done are not enough.
  bool WantsMore(int pairs) const {
    const bool waits =
        pairs < kProcessPairsMax && MayBeAlone() && all_rounds_.AlonePairs() < kAlonePairsWanted;
    return waits || PairsMissing(until_, pairs, all_rounds_.Ratios(), trial_->seed());
  }

  // Whether more pairs would not change what is learned. Rounds that shared their core agree among
  // themselves, and with nothing else.
  bool Clear() const {
    return (all_rounds_.AlonePairs() >= kAlonePairsMin || !MayBeAlone()) &&
           ClearAlready(all_rounds_.Ratios(), trial_->seed());
  }

  void Summarize() {
    report_->ratios = all_rounds_.Ratios();
    const auto counting = all_rounds_.Counting();
    for (size_t i = 0; i < data_.size(); ++i) {
      const SizeData& data = data_[i];
      TimedSize size;
      std::vector<double> ratios, reference_ns, candidate_ns;
      for (const std::vector<PlayedRound>& rounds : counting[i])
        for (const PlayedRound& round : rounds) {
          ratios.push_back(round.ratio());
          reference_ns.push_back(round.reference_ns);
          candidate_ns.push_back(round.candidate_ns);
          size.pairs_core_shared += round.shared ? 1 : 0;
        }
      size.rounds_core_shared = all_rounds_.SharedRounds(i);
      size.pairs = static_cast<int>(ratios.size());
      size.speedup = Median(std::move(ratios));
      size.reference_ns = Median(std::move(reference_ns));
      size.candidate_ns = Median(std::move(candidate_ns));
      size.calls_per_bell = data.calls;
      size.rounds_redone = data.redone;
      size.rounds_clock_changed = data.clock_changed;
      report_->sizes.push_back(size);
    }
    report_->turns_s = trial_->turns_s() - turns_before_s_;
    report_->score = FinalScore(report_->ratios, report_->stopped_early, trial_->seed());
  }

  Trial* trial_;
  const std::vector<CallShape>& sizes_;
  double budget_ns_;
  Until until_;
  bool far_;              // so far apart that short rounds tell enough
  bool settled_ = false;  // that, how many calls share a bell, and:
  int rounds_ = 0;        // per process pair
  TimeReport* report_;
  Philox rng_;
  uint64_t begin_ns_;
  double pair_end_ns_ = 0;  // of this process pair's share of the budget, from begin_ns_
  std::vector<SizeData> data_;
  double turns_before_s_;
  double floor_ns_ = 0;      // of an empty bell, by the clock
  double cpu_floor_ns_ = 0;  // by the kernel's account
  double lost_floor_ns_ = 0;
  std::unique_ptr<CoreWatch> own_watch_;
  CoreWidth own_width_;
  CoreWatch* watch_ = nullptr;  // null: nothing is known of the core
  CoreWidth* width_ = nullptr;
  ClockSteps clock_;
  CoreSpeed speed_;                    // of the last look
  bool shared_ = false;                // … and what it says
  std::optional<PlayedRound> played_;  // counts once the next look tells that nothing spoiled it
  PlayedRounds all_rounds_;
};

}  // namespace

std::optional<Failure> TimeCandidate(Trial* trial, const std::vector<CallShape>& sizes,
                                     const std::vector<CallEstimate>& estimates,
                                     const TimeOptions& options, TimeReport* report) {
  *report = TimeReport{};
  const UrgentThread urgent;
  return Stage(trial, sizes, estimates, options, report).Run();
}

}  // namespace whetstone
