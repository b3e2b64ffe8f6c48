#include "cpu_bench_worker/timing/time_stage.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "common/philox.h"
#include "cpu_bench_worker/host/scoped_realtime.h"
#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/timing/candidate_bounds.h"
#include "cpu_bench_worker/timing/core_observer.h"
#include "cpu_bench_worker/timing/harness_floor.h"
#include "cpu_bench_worker/timing/timed_samples.h"

namespace whetstone {
namespace {

constexpr int kSettlingSamples = 3;
constexpr double kHarnessFloorGuessNs = 5'000;
constexpr double kThreadedHarnessFloorGuessNs = 25'000;

struct SizeData {
  int calls = 1;
  // The first process pair has room for so many calls.
  int calls_max = 1;
  // These are samples of the process pair that runs.
  int in_pair = 0;
  int alone_in_pair = 0;  // of them had the core for themselves
  int redone = 0;
  int frequency_changed = 0;  // among `redone`
};

class Stage {
 public:
  Stage(Session* session, const std::vector<CallShape>& sizes,
        const std::vector<CallEstimate>& estimates, const TimeOptions& options, TimeReport* report)
      : session_(session),
        sizes_(sizes),
        budget_ns_(std::min(options.budget_s, kTimeBudgetSeconds) * 1e9),
        criterion_(options.criterion),
        least_speedup_(options.least_speedup),
        aa_threshold_(options.aa_threshold),
        far_(options.criterion == StoppingCriterion::kClear && FarApart(estimates)),
        report_(report),
        rng_(session->seed(), {0x71ED, 0, 0, 0}),
        clock_(options.clock != nullptr ? options.clock : &steady_clock_),
        begin_(clock_->Now()),
        data_(sizes.size()),
        invocations_before_s_(session->invocations_s()),
        floor_(threaded(), session->context().cores.kernel.size()),
        core_(session->context().cores, threaded(), options.core_probe, options.smt_detector),
        bounds_(sizes.size()),
        samples_(sizes.size()) {
    const double guess_ns = threaded() ? kThreadedHarnessFloorGuessNs : kHarnessFloorGuessNs;
    for (size_t i = 0; i < sizes.size(); ++i) GuessCalls(i, estimates[i], guess_ns);
  }

  std::optional<Failure> Run() {
    for (int pair = 0; WantsMore(pair); ++pair) {
      AwaitAlone();
      pair_end_ns_ = budget_ns_ * std::min(pair + 1, kProcessPairs) / kProcessPairs;
      if (auto failure = RunPair()) return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      if (pair == 0 && bounds_.SettledTooSlow()) {
        // None of the samples so far count.
        settled_ = false;
        samples_ = TimedSamples(sizes_.size());
        for (size_t i = 0; i < sizes_.size(); ++i) GuessCalls(i, bounds_.Shortest(i), 0);
        pair = -1;
        continue;
      }
      if (ElapsedNs() >= budget_ns_ && !GainOfFewPairs(pair + 1)) break;
      if (criterion_ == StoppingCriterion::kClear && WantsMore(pair + 1) && EndsEarly()) break;
    }
    Summarize();
    return std::nullopt;
  }

 private:
  double NsSince(std::chrono::nanoseconds begin) const {
    return static_cast<double>((clock_->Now() - begin).count());
  }
  double ElapsedNs() const { return NsSince(begin_) - waited_ns_; }

  int Calls(const CallEstimate& estimate, double harness_floor_ns, const CallShape& size) const {
    const double batch_ns = far_ ? kBatchNsMinFar : kBatchNsMin;
    return CallsPerRequest(estimate, harness_floor_ns, size.bytes,
                           threaded() ? kBatchThreaded * batch_ns : batch_ns);
  }

  // The calls of one request as far as is known, and what there is to be room for.
  void GuessCalls(size_t i, const CallEstimate& call, double harness_floor_ns) {
    const CallEstimate half{.reference_ns = call.reference_ns / 2,
                            .candidate_ns = call.candidate_ns / 2};
    SizeData& data = data_[i];
    data.calls = Calls(call, harness_floor_ns, sizes_[i]);
    data.calls_max = std::max(data.calls, Calls(half, harness_floor_ns / 2, sizes_[i]));
  }

  // What is measured beside a neighbour is of another machine than what is measured alone.
  void AwaitAlone() {
    if (criterion_ != StoppingCriterion::kPrecise || !core_.MayBeAlone()) return;
    const std::chrono::nanoseconds begin = clock_->Now();
    const double left_ns = kAloneWaitNs - waited_ns_;
    for (; looks_ < kAloneLooks && NsSince(begin) < left_ns && !session_->cancelled(); ++looks_) {
      if (!core_.SharedNow()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    waited_ns_ += NsSince(begin);
  }

  CallBatch Batch(size_t size, int calls, uint64_t seed) const {
    return {&session_->problem().arguments, sizes_[size], calls, Placement{.seed = seed}};
  }

  std::optional<Failure> RunPair() {
    // Every pair has fresh placement and one batch a size, refilled for every sample. The first
    // pair has room for more calls than were guessed.
    bounds_.BeginPair();
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
    const std::chrono::nanoseconds start = clock_->Now();
    if (auto failure = session_->FreshProcessPair(borrowed, /*realtime=*/true)) return failure;
    report_->start_s += NsSince(start) / 1e9;
    ++report_->process_pairs;
    room.clear();

    // This warms up code, page tables and branch predictors, and measures the harness floor of
    // these processes.
    for (size_t i = 0; i < batches.size(); ++i) {
      PairedSample sample;
      if (auto failure = TakeJudgedSample(FillStyle::kPlain, /*oracle=*/true, &batches[i], &sample))
        return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      bounds_.WarmedUp(i, floor_.OwnNs(sample.candidate), batches[i].calls());
    }
    if (auto failure = floor_.Measure(session_, batches[0])) return failure;
    if (!settled_) {
      settled_ = true;
      if (auto failure = Settle(&batches)) return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      if (!AdoptCalls(seeds, &batches)) return RunPair();
    }

    // One sample among them is judged as a check is, and does not count: no invocation is known to
    // be timed, or to have only likely inputs.
    const FillStyle judged = rng_.Below(2) == 0 ? FillStyle::kPlain : FillStyle::kEdges;
    uint64_t before_judged = rng_.Below(static_cast<uint64_t>(samples_per_pair_) * batches.size());
    for (int r = 0; r < samples_per_pair_; ++r) {
      for (size_t i = 0; i < batches.size(); ++i) {
        PairedSample sample;
        if (before_judged-- == 0)
          if (auto failure = TakeJudgedSample(judged, /*oracle=*/true, &batches[i], &sample);
              failure || !report_->first_bad.empty())
            return failure;
        if (auto failure = TakeTimedSample(i, &batches[i]); failure || !report_->first_bad.empty())
          return failure;
      }
    }
    if (auto failure = TakeMissingSamples(&batches)) return failure;
    return bounds_.WarmUpTooLong(sizes_);
  }

  TimedSample Timed(size_t size, const PairedSample& sample, double calls) const {
    const BatchNs work = floor_.WorkNs(sample);
    return {.size = size,
            .pair = report_->process_pairs,
            .reference_ns = work.reference / calls,
            .candidate_ns = work.candidate / calls};
  }

  // Whether a gain rests on fewer pairs than a gain needs, as the candidate took the time.
  bool GainOfFewPairs(int pairs) const {
    return pairs < kPairsOfAGain && SpeedupOf(samples_.Ratios()) > 1;
  }

  // Gives the batches as many calls as settling found; returns false if this pair has no room for
  // them.
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

  // Takes again what a change of the core's frequency has spoiled, and more where some samples
  // shared their core.
  std::optional<Failure> TakeMissingSamples(std::vector<CallBatch>* batches) {
    for (size_t i = 0; i < batches->size(); ++i) {
      for (;;) {
        if (pending_.has_value()) ObserveCore();
        if (EnoughInPair(data_[i])) break;
        if (auto failure = TakeTimedSample(i, &(*batches)[i]);
            failure || !report_->first_bad.empty())
          return failure;
      }
    }
    return std::nullopt;
  }

  bool EnoughInPair(const SizeData& data) const {
    if (data.in_pair < samples_per_pair_) return false;
    if (data.alone_in_pair >= samples_per_pair_) return true;
    // A neighbour who was there all the time will stay.
    return data.alone_in_pair == 0 || data.in_pair >= kSamplesStretched * samples_per_pair_ ||
           ElapsedNs() >= pair_end_ns_;
  }

  // How many calls share a request decides which caches hold their data, so it must not hang on one
  // call's luck: the check stage's estimates include waking, which takes longer than a small
  // kernel. Settles it with the shortest of some samples, and with it whether the candidate is far
  // from the reference, and how many samples a pair has.
  std::optional<Failure> Settle(std::vector<CallBatch>* batches) {
    std::vector<CallEstimate> shortest(batches->size(),
                                       {.reference_ns = 1e12, .candidate_ns = 1e12});
    std::vector<double> call_ns;  // This is of both members' calls, filling and judging.
    for (size_t i = 0; i < batches->size(); ++i) {
      CallBatch& batch = (*batches)[i];
      CallEstimate& least = shortest[i];
      const std::chrono::nanoseconds begin = clock_->Now();
      for (int r = 0; r < kSettlingSamples; ++r) {
        PairedSample sample;
        if (auto failure = TakeJudgedSample(FillStyle::kPlain, /*oracle=*/false, &batch, &sample))
          return failure;
        if (!report_->first_bad.empty()) return std::nullopt;
        least.reference_ns = std::min(least.reference_ns, floor_.ClockNs(sample.reference));
        least.candidate_ns = std::min(least.candidate_ns, floor_.ClockNs(sample.candidate));
      }
      call_ns.push_back(NsSince(begin) / kSettlingSamples / batch.calls());
      least.reference_ns = (least.reference_ns - floor_.ns()) / batch.calls();
      least.candidate_ns = (least.candidate_ns - floor_.ns()) / batch.calls();
    }
    bounds_.BeginSettling();
    far_ = far_ && FarApart(shortest);
    double sample_ns = 0;
    for (size_t i = 0; i < data_.size(); ++i) {
      bounds_.Settled(i, shortest[i]);
      data_[i].calls = Calls(shortest[i], /*harness_floor_ns=*/0, sizes_[i]);
      sample_ns += call_ns[i] * data_[i].calls;
    }
    samples_per_pair_ =
        SamplesPerPair(sample_ns, budget_ns_ - ElapsedNs(), far_ ? kSamplesMaxFar : kSamplesMax);
    return std::nullopt;
  }

  // Observes the core between the last sample and the next: the last one counts, or is to be taken
  // again.
  void ObserveCore() { CountOrRedo(core_.Observe()); }

  void CountOrRedo(const CoreInterval& interval) {
    if (!pending_.has_value()) return;
    TimedSample sample = *std::exchange(pending_, std::nullopt);
    SizeData& data = data_[sample.size];
    if (interval.frequency_changed && MayRedo(data)) {
      ++data.redone;
      ++data.frequency_changed;
      return;
    }
    sample.shared = interval.shared;
    samples_.Add(sample);
    ++data.in_pair;
    data.alone_in_pair += sample.shared ? 0 : 1;
  }

  // On a machine that is never quiet, a disturbed sample is better than none.
  bool MayRedo(const SizeData& data) const {
    return data.redone < kRedoneMax && ElapsedNs() < budget_ns_;
  }

  // Takes one sample on fresh inputs and judges it.
  std::optional<Failure> TakeJudgedSample(FillStyle style, bool oracle, CallBatch* batch,
                                          PairedSample* sample) {
    ObserveCore();
    if (auto failure = session_->Fill(rng_.Next64(), style, batch)) return failure;
    const SampleOptions options{.candidate_first = rng_.Below(2) == 0, .oracle = oracle};
    if (auto failure = session_->TakeSample(*batch, options, sample)) return failure;
    ++report_->samples;
    if (sample->right_calls == batch->calls())
      ++report_->samples_right;
    else
      report_->first_bad = sample->first_bad;
    return std::nullopt;
  }

  std::optional<Failure> TakeTimedSample(size_t size, CallBatch* batch) {
    SizeData& data = data_[size];
    for (;;) {
      PairedSample sample;
      if (auto failure = TakeJudgedSample(FillStyle::kPlain, /*oracle=*/false, batch, &sample))
        return failure;
      if (!report_->first_bad.empty()) return std::nullopt;
      if (floor_.Disturbed(sample) && MayRedo(data)) {
        ++data.redone;
        continue;
      }
      pending_ = Timed(size, sample, data.calls);
      bounds_.Timed(size, pending_->reference_ns, pending_->candidate_ns);
      return std::nullopt;
    }
  }

  bool threaded() const { return session_->problem().threaded(); }

  // Returns whether the `pairs` that are done are not enough.
  bool WantsMore(int pairs) const {
    const bool waits =
        pairs < kProcessPairsMax && core_.MayBeAlone() && samples_.AlonePairs() < kAlonePairsWanted;
    return waits || PairsMissing(criterion_, pairs, samples_.Ratios(), session_->seed());
  }

  // Returns, and notes, whether more pairs would not change what is learned. Samples that shared
  // their core agree only among themselves; below the least they are where even their error says
  // so.
  bool EndsEarly() {
    const std::vector<PairedRatios> ratios = samples_.Ratios();
    const bool may_change = samples_.AlonePairs() < kAlonePairsMin && core_.MayBeAlone();
    const bool clear = !may_change && ClearAlready(ratios, session_->seed());
    const double long_run = LongRunThreshold(aa_threshold_, samples_.CountsShared());
    report_->below_least =
        !clear && BelowAlready(ratios, least_speedup_, long_run, session_->seed());
    report_->stopped_early = clear || report_->below_least;
    return report_->stopped_early;
  }

  void Summarize() {
    report_->ratios = samples_.Ratios();
    for (size_t i = 0; i < data_.size(); ++i) {
      TimedSize size = samples_.Summary(i);
      size.calls_per_request = data_[i].calls;
      size.samples_redone = data_[i].redone;
      size.samples_frequency_changed = data_[i].frequency_changed;
      report_->sizes.push_back(size);
    }
    report_->invocations_s = session_->invocations_s() - invocations_before_s_;
    report_->score = FinalScore(report_->ratios, report_->stopped_early, session_->seed());
  }

  Session* session_;
  const std::vector<CallShape>& sizes_;
  double budget_ns_;
  StoppingCriterion criterion_;
  double least_speedup_;
  double aa_threshold_;
  // Both programs are so far apart that short samples tell enough.
  bool far_;
  // `far_`, the calls that share a request and `samples_per_pair_` are settled.
  bool settled_ = false;
  int samples_per_pair_ = 0;
  TimeReport* report_;
  Philox rng_;
  const SteadyClock steady_clock_;
  const Clock* clock_;
  const std::chrono::nanoseconds begin_;
  double waited_ns_ = 0;  // for a neighbour to leave
  int looks_ = 0;         // as often it saw one there
  // This process pair's share of the budget ends so long after begin_.
  double pair_end_ns_ = 0;
  std::vector<SizeData> data_;
  double invocations_before_s_;
  HarnessFloor floor_;  // It is of the process pair that runs.
  CoreObserver core_;
  // `pending_` is the last sample; it counts once the next observation tells that nothing spoiled
  // it.
  std::optional<TimedSample> pending_;
  CandidateBounds bounds_;
  TimedSamples samples_;
};

}  // namespace

std::optional<Failure> TimeCandidate(Session* session, const std::vector<CallShape>& sizes,
                                     const std::vector<CallEstimate>& estimates,
                                     const TimeOptions& options, TimeReport* report) {
  *report = TimeReport{};
  const ScopedRealtime realtime;
  return Stage(session, sizes, estimates, options, report).Run();
}

}  // namespace whetstone
