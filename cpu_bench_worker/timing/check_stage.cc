#include "cpu_bench_worker/timing/check_stage.h"

#include <algorithm>
#include <deque>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

struct Case {
  CallBatch* batch;
  FillStyle style;
  // Where the time of a timed size goes; null for other sizes.
  CallEstimate* estimate;
};

void Keep(double ns, double* shortest) {
  *shortest = *shortest == 0 ? ns : std::min(*shortest, ns);
}

}  // namespace

std::optional<Failure> CheckCandidate(Session* session, CheckReport* report) {
  const BenchProblem& problem = session->problem();
  std::deque<CallBatch> batches;  // Their addresses stay.
  std::vector<CallBatch*> borrowed;
  std::vector<Case> cases;
  const auto batch = [&](const CallShape& shape, bool unaligned, int last_array) {
    batches.emplace_back(
        &problem.arguments, shape, 1,
        Placement{.seed = session->seed(), .unaligned = unaligned, .last_array = last_array});
    borrowed.push_back(&batches.back());
    return borrowed.back();
  };
  // Each array in its turn ends where memory does, the first at the last size: the first sizes are
  // so small that little can be seen there.
  auto turn = static_cast<int>(problem.check.size() + problem.hidden.size() + problem.timed.size());
  const auto add = [&](const CallShape& shape, CallEstimate* estimate) {
    --turn;
    CallBatch* unaligned = batch(shape, true, -1);
    // Inputs so large that they have one place are aligned when they are timed.
    CallBatch *aligned = unaligned, *last = unaligned;
    if (!unaligned->in_place()) {
      aligned = batch(shape, false, -1);
      last = batch(shape, false, turn);
    }
    cases.push_back({aligned, FillStyle::kPlain, estimate});
    cases.push_back({unaligned, FillStyle::kPlain, estimate});
    cases.push_back({last, FillStyle::kEdges, estimate});
  };
  report->timed.assign(problem.timed.size(), CallEstimate{});
  for (const CallShape& shape : problem.check) add(shape, nullptr);
  for (const CallShape& shape : problem.hidden) add(shape, nullptr);
  for (size_t i = 0; i < problem.timed.size(); ++i) add(problem.timed[i], &report->timed[i]);
  if (auto failure = session->FreshProcessPair(borrowed, /*realtime=*/false)) return failure;

  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (auto failure = session->Fill(i, c.style, c.batch)) return failure;
    PairedSample sample;
    if (auto failure = session->TakeSample(*c.batch, {.oracle = true}, &sample)) {
      // Who writes beside an output crashes where memory ends; what was seen before says more.
      if (failure->outcome == v1::CRASH && !report->first_bad.empty()) {
        absl::StrAppend(&failure->detail, "; before that, ", report->first_bad);
      }
      return failure;
    }
    ++report->cases;
    if (sample.right_calls == 1)
      ++report->cases_right;
    else if (report->first_bad.empty())
      report->first_bad = sample.first_bad;
    if (c.estimate == nullptr) continue;
    Keep(sample.reference.ns, &c.estimate->reference_ns);
    Keep(sample.candidate.ns, &c.estimate->candidate_ns);
  }
  return std::nullopt;
}

}  // namespace whetstone
