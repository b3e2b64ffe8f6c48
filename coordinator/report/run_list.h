// The runs of a folder, for who has many.
//
//   ASSIGN_OR_RETURN(const std::vector<std::string> runs, FindRuns("runs"));
//   for (const std::string& run : runs) …ListRun(run)…
#ifndef WHETSTONE_COORDINATOR_REPORT_RUN_LIST_H_
#define WHETSTONE_COORDINATOR_REPORT_RUN_LIST_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {

struct ListedRun {
  std::string path;
  absl::Time active;  // when its journal, or who runs it, was last written
  absl::StatusOr<RunSummary> summary = absl::UnknownError("not read");
};

// Returns the run directories among `folder` and what is up to two folders below it (those of `whet
// discover` are within its folder, evaluations within one for each model); sorted. A run that can
// not be read is one of them, a folder that can not be opened is left out. NOT_FOUND: there is no
// such folder; PERMISSION_DENIED and the like.
absl::StatusOr<std::vector<std::string>> FindRuns(const std::string& folder);

// Reads one of them. The run is only read.
ListedRun ListRun(const std::string& path);

// Returns a table, and below it why some can not be read; `now` is what ages are told from.
std::string RunListText(const std::vector<ListedRun>& runs, absl::Time now);
// Each as `whet status --json` has it and `age_s`; or run_dir, age_s and `error`.
nlohmann::ordered_json RunListJson(const std::vector<ListedRun>& runs, absl::Time now);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_RUN_LIST_H_
