#include "cpu_bench_worker/timing/check_stage.h"

#include <algorithm>
#include <memory>

namespace whetstone {
namespace {

constexpr int kEstimateRounds = 3;

struct Case {
  const CallShape* shape;
  bool unaligned;
  FillStyle style;
  int estimate_of;  // index into CheckReport::timed, or -1
};

}  // namespace

std::optional<Failure> CheckCandidate(Trial* trial, const std::vector<CallShape>& sizes,
                                      CheckReport* report) {
  const BenchProblem& problem = trial->problem();
  std::vector<Case> cases;
  for (const CallShape& shape : problem.check) {
    cases.push_back({&shape, false, FillStyle::kPlain, -1});
    cases.push_back({&shape, true, FillStyle::kPlain, -1});
    cases.push_back({&shape, false, FillStyle::kEdges, -1});
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int r = 0; r < kEstimateRounds; ++r)
      cases.push_back({&sizes[i], false, FillStyle::kPlain, static_cast<int>(i)});
  report->timed.assign(sizes.size(), CallEstimate{});

  // The rounds of an estimate share a batch: it may be large.
  std::vector<CallBatch> batches;
  batches.reserve(cases.size());
  std::vector<CallBatch*> batch_of;
  std::vector<CallBatch*> borrowed;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (i == 0 || c.estimate_of < 0 || c.estimate_of != cases[i - 1].estimate_of) {
      batches.emplace_back(&problem.arguments, *c.shape, 1,
                           Placement{.seed = trial->seed(), .unaligned = c.unaligned});
      borrowed.push_back(&batches.back());
    }
    batch_of.push_back(&batches.back());
  }
  if (auto failure = trial->FreshPair(borrowed, /*urgent=*/false)) return failure;

  for (size_t i = 0; i < cases.size(); ++i) {
    if (auto failure = trial->Fill(i, cases[i].style, batch_of[i])) return failure;
    Round round;
    if (auto failure = trial->Play(*batch_of[i], {.oracle = true}, &round)) return failure;
    ++report->cases;
    if (round.right_calls == 1)
      ++report->cases_right;
    else if (report->first_bad.empty())
      report->first_bad = round.first_bad;
    if (cases[i].estimate_of >= 0) {
      CallEstimate& e = report->timed[static_cast<size_t>(cases[i].estimate_of)];
      const auto keep = [](double* best, double ns) {
        *best = *best == 0 ? ns : std::min(*best, ns);
      };
      keep(&e.reference_ns, round.reference.ns);
      keep(&e.candidate_ns, round.candidate.ns);
    }
  }
  return std::nullopt;
}

}  // namespace whetstone
