// `whet problem check` of one prompt file, on a worker of this machine.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_LOCAL_CHECK_H_
#define WHETSTONE_COORDINATOR_DISCOVER_LOCAL_CHECK_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/authoring/problem_report.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/terminal/console.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Checks `problem`, which `text` was parsed to; `file` is its name, for messages. The report says
// what is wrong with the problem; errors are the worker's. What is going on is shown on the
// console. CANCELLED: `stopped` (asked before each program; may be empty) said so. Both pointers
// are borrowed.
absl::StatusOr<ProblemReport> CheckOnWorker(const v1::Problem& problem, const std::string& text,
                                            const std::string& file, bool quick,
                                            LocalWorker* worker, Console* console,
                                            const std::function<bool()>& stopped = {});

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_LOCAL_CHECK_H_
