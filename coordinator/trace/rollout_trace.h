// TraceSteps writes a trace of some steps of a run, for ui.perfetto.dev: each rollout's way through
// the services (generate → extract → compile → check → time → reward → update), and what trainer
// and slots did at any time, so that their gaps show (docs/formats/trace.md).
//
//   ASSIGN_OR_RETURN(const TracedSteps steps, ParseTracedSteps("12..14"));
//   ASSIGN_OR_RETURN(const TraceCounts counts,
//                    TraceSteps(plan, *journal, steps, "trace.json", progress));
#ifndef WHETSTONE_COORDINATOR_TRACE_ROLLOUT_TRACE_H_
#define WHETSTONE_COORDINATOR_TRACE_ROLLOUT_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"

namespace whetstone {

// GRPO steps, both ends included; or one evaluation, twice its number (campaign_plan.h).
struct TracedSteps {
  int64_t first = 0;
  int64_t last = 0;
};

// Returns the steps that "12", "12..14", or "eval-10" name. INVALID_ARGUMENT: it names none.
absl::StatusOr<TracedSteps> ParseTracedSteps(absl::string_view text);

struct TraceCounts {
  int64_t rollouts = 0;  // of these steps
  int64_t spans = 0;     // of everything that ran in their time
  double seconds = 0;    // from the first to the last moment drawn
};

// Writes the trace; the file appears when it is whole, in the place of an older one. `progress` is
// told the counts so far now and then. The run may go on meanwhile. Reads the entries of the steps
// twice, and keeps only what is open. NOT_FOUND: no such step. FAILED_PRECONDITION: a version that
// kept no times recorded it. DATA_LOSS: the journal is damaged. RESOURCE_EXHAUSTED and the like:
// the file cannot be written.
absl::StatusOr<TraceCounts> TraceSteps(const CampaignPlan& plan, const Journal& journal,
                                       const TracedSteps& steps, const std::string& path,
                                       const std::function<void(const TraceCounts&)>& progress);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_ROLLOUT_TRACE_H_
