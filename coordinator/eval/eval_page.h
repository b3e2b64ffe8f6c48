// An evaluation as one self-contained HTML page.
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_PAGE_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_PAGE_H_

#include <string>

#include "coordinator/eval/eval_summary.h"

namespace whetstone {

// Returns the page: the tables of eval_tables.h, what their words mean, and a chart of each
// measure's estimates and intervals.
std::string EvalPage(const std::string& title, const EvalSummary& summary);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_PAGE_H_
