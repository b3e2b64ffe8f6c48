// metrics.jsonl and the TensorBoard events have one row per update and evaluation, written when it
// is done.
//
// Both are copies of what the journal knows. Open writes them anew from it, so a crash between the
// journal and the files never leaves a step out or twice in.
#ifndef WHETSTONE_COORDINATOR_REPORT_METRICS_H_
#define WHETSTONE_COORDINATOR_REPORT_METRICS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/tensorboard.h"

namespace whetstone {

// The class is not thread-safe.
class Metrics {
 public:
  static absl::StatusOr<std::unique_ptr<Metrics>> Open(const RunPaths& paths,
                                                       const Journal& journal);
  ~Metrics();
  // Writes a row; it is on disk (in the page cache) when this returns.
  absl::Status Add(const MetricsRow& row);

 private:
  Metrics() = default;
  std::string path_;
  int fd_ = -1;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_METRICS_H_
