// RUN/paused says since when a live run is paused, to whoever looks at the run (status, watch,
// list). The run's process writes it before nothing new begins, and removes it before it goes on or
// ends. It holds up nothing by itself: a pause ends with its process, so whoever takes a run over
// removes what a killed one left (RunDir::Open).
#ifndef WHETSTONE_COORDINATOR_JOURNAL_PAUSE_FILE_H_
#define WHETSTONE_COORDINATOR_JOURNAL_PAUSE_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace whetstone {

// `path` is RunPaths::paused(). Returns nothing where there is no such file, or none that says so.
std::optional<absl::Time> ReadPauseFile(const std::string& path);
// Replaces the file atomically, to the second.
absl::Status WritePauseFile(const std::string& path, absl::Time since);
// It is no error if there is none.
absl::Status RemovePauseFile(const std::string& path);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_PAUSE_FILE_H_
