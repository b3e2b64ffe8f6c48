// These functions write what the page of `whet report` says of problems: rewards, best programs,
// samples of what the policy wrote.
#ifndef WHETSTONE_COORDINATOR_REPORT_REPORT_PROBLEM_H_
#define WHETSTONE_COORDINATOR_REPORT_REPORT_PROBLEM_H_

#include <cstddef>
#include <map>
#include <string>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/report/report_samples.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {

// Returns a table of the problems that are learned, with a link to each one's part.
std::string ProblemTable(const CampaignPlan& plan, const RunSummary& summary,
                         const std::map<std::string, ProblemSamples>& samples);

// Returns the part of plan.learned()[index], of at most `bytes_max` bytes or the little that it
// takes to say what is left out. `samples` may be null: nothing was judged.
std::string ProblemPart(const CampaignPlan& plan, const RunSummary& summary, size_t index,
                        const ProblemSamples* samples, size_t bytes_max);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_REPORT_PROBLEM_H_
