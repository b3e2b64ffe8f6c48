// `whet report RUN RUN…` lays runs over each other: in which settings they differ, their curves in
// one chart each, and their best programs side by side.
//
//   std::vector<ComparedRun> runs;   // each read by SummarizeRun
//   page = ComparisonHtml(runs);
#ifndef WHETSTONE_COORDINATOR_REPORT_RUN_COMPARISON_H_
#define WHETSTONE_COORDINATOR_REPORT_RUN_COMPARISON_H_

#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {

struct ComparedRun {
  CampaignPlan plan;
  RunSummary summary;
};

// Returns the page of at least two runs, at most kPageBytesMax long (report.h). Runs that differ in
// nothing but their seed, their name and where they save are drawn as one line, their mean, with a
// band of one standard deviation. Prompt files are compared by what they say, files of worked
// examples by their names. Pure.
std::string ComparisonHtml(const std::vector<ComparedRun>& runs);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_RUN_COMPARISON_H_
