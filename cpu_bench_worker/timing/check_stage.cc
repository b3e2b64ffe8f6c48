#include "cpu_bench_worker/timing/check_stage.h"

#include <algorithm>
#include <memory>

namespace whetstone {
namespace {

constexpr int kEstimateSamples = 3;

struct Case {
  const CallShape* shape;
  bool unaligned;
  FillStyle style;
  int estimate_of;  // This is an index into CheckReport::timed, or -1.
};

}  // namespace

std::optional<Failure> CheckCandidate(Session* session, const std::vector<CallShape>& sizes,
                                      CheckReport* report) {
  const BenchProblem& problem = session->problem();
  std::vector<Case> cases;
  for (const CallShape& shape : problem.check) {
    cases.push_back({&shape, false, FillStyle::kPlain, -1});
    cases.push_back({&shape, true, FillStyle::kPlain, -1});
    cases.push_back({&shape, false, FillStyle::kEdges, -1});
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int r = 0; r < kEstimateSamples; ++r)
      cases.push_back({&sizes[i], false, FillStyle::kPlain, static_cast<int>(i)});
  report->timed.assign(sizes.size(), CallEstimate{});

  // The samples of an estimate share a batch: it may be large.
  std::vector<CallBatch> batches;
  batches.reserve(cases.size());
  std::vector<CallBatch*> batch_of;
  std::vector<CallBatch*> borrowed;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (i == 0 || c.estimate_of < 0 || c.estimate_of != cases[i - 1].estimate_of) {
      batches.emplace_back(&problem.arguments, *c.shape, 1,
                           Placement{.seed = session->seed(), .unaligned = c.unaligned});
      borrowed.push_back(&batches.back());
    }
    batch_of.push_back(&batches.back());
  }
  if (auto failure = session->FreshProcessPair(borrowed, /*realtime=*/false)) return failure;

  for (size_t i = 0; i < cases.size(); ++i) {
    if (auto failure = session->Fill(i, cases[i].style, batch_of[i])) return failure;
    PairedSample sample;
    if (auto failure = session->TakeSample(*batch_of[i], {.oracle = true}, &sample)) return failure;
    ++report->cases;
    if (sample.right_calls == 1)
      ++report->cases_right;
    else if (report->first_bad.empty())
      report->first_bad = sample.first_bad;
    if (cases[i].estimate_of >= 0) {
      CallEstimate& e = report->timed[static_cast<size_t>(cases[i].estimate_of)];
      const auto keep = [](double* best, double ns) {
        *best = *best == 0 ? ns : std::min(*best, ns);
      };
      keep(&e.reference_ns, sample.reference.ns);
      keep(&e.candidate_ns, sample.candidate.ns);
    }
  }
  return std::nullopt;
}

}  // namespace whetstone
