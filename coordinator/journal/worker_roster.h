// RUN/workers.yaml: the workers of a run that get work, once `whet workers` has added one or sent
// one away; until then the campaign's. `whet resume` opens these and no others.
//
// It is written before anybody acts on the change: a run killed at any moment goes on with the
// workers of the last change that was answered, or of the one that was under way. A worker that
// drains is out of it from the start, as it would be idle after a resume.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_WORKER_ROSTER_H_
#define WHETSTONE_COORDINATOR_JOURNAL_WORKER_ROSTER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/journal/run_dir.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/coordinator.pb.h"

namespace whetstone {

// `otherwise` if the file is not there. INVALID_ARGUMENT names file and line.
absl::StatusOr<v1::Roster> ReadRoster(const RunPaths& paths, const v1::Roster& otherwise);
// Atomically, and on disk when it returns.
absl::Status WriteRoster(const RunPaths& paths, const v1::Roster& roster);

// "cpu03", "user@cpu03:22:/run/other.sock", or "/run/w.sock" on this machine.
v1::WorkerHost ParseWorkerAddress(absl::string_view text);
// The same text again; a socket in its usual place is left out, and the worker that `whet` starts
// is "this machine".
std::string WorkerAddressText(const v1::WorkerHost& place);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_WORKER_ROSTER_H_
