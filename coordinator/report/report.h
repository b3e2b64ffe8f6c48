// `whet report` makes one self-contained HTML page about a run (html.h): SVG and text.
#ifndef WHETSTONE_COORDINATOR_REPORT_REPORT_H_
#define WHETSTONE_COORDINATOR_REPORT_REPORT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/report/portability.h"
#include "coordinator/report/report_samples.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {

// A page is small enough to be mailed: what does not fit is left out, and the page says what.
inline constexpr size_t kPageBytesMax = 10'000'000;

// Returns what the pages of `whet report` have besides the style of all pages.
std::string ReportStyle();

// Returns the page of one run. `samples` are by problem id. Pure.
std::string ReportHtml(const CampaignPlan& plan, const RunSummary& summary,
                       const std::map<std::string, ProblemSamples>& samples,
                       const std::optional<Portability>& portability);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_REPORT_H_
