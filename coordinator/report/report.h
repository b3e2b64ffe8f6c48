// `whet report` makes one self-contained HTML page about a run (no script, no network: SVG and
// text).
#ifndef WHETSTONE_COORDINATOR_REPORT_REPORT_H_
#define WHETSTONE_COORDINATOR_REPORT_REPORT_H_

#include <map>
#include <optional>
#include <string>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/report/portability.h"
#include "coordinator/report/report_samples.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {

std::string ReportHtml(const CampaignPlan& plan, const RunSummary& summary,
                       const std::map<std::string, ProblemSamples>& samples,
                       const std::optional<Portability>& portability);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_REPORT_H_
