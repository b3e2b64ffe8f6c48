// RUN/workers.yaml holds the workers of a run that get work, once `whet workers` has added one or
// sent one away; until then the campaign's do. `whet resume` opens these and no others.
//
// It is written before anybody acts on the change: a run killed at any moment goes on with the
// workers of the last change that was answered, or of the one that was under way. A worker that
// drains is out of it from the start, as it would be idle after a resume.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_WORKER_LIST_H_
#define WHETSTONE_COORDINATOR_JOURNAL_WORKER_LIST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/journal/run_dir.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/coordinator.pb.h"

namespace whetstone {

// Returns the list of the file; `otherwise` if there is none. INVALID_ARGUMENT names file and line.
absl::StatusOr<v1::WorkerList> ReadWorkerList(const RunPaths& paths,
                                              const v1::WorkerList& otherwise);
// Replaces the file atomically; it is on disk when this returns.
absl::Status WriteWorkerList(const RunPaths& paths, const v1::WorkerList& worker_list);

// Returns the workers that a file names, and how their hosts are reached: those of a campaign's
// `cluster`, or a list like RUN/workers.yaml (with host ranges, if need be), whose hosts are
// reached as `cluster` says. There is at least one, and none of this machine beside hosts:
// INVALID_ARGUMENT.
absl::StatusOr<v1::ClusterConfig> ReadClusterFile(const std::string& path,
                                                  const v1::ClusterConfig& cluster);

// Reads an address: "cpu03", "user@cpu03:22:/run/other.sock", or "/run/w.sock" on this machine.
v1::WorkerHost ParseWorkerAddress(absl::string_view text);
// Reads addresses whose host may be a range: "cpu[03-05]:/run/w.sock" gives three. INVALID_ARGUMENT
// as host_range.h says.
absl::StatusOr<std::vector<v1::WorkerHost>> ParseWorkerAddresses(absl::string_view text);
// Returns the same text again. The default socket is left out, and the worker that `whet` starts is
// "this machine".
std::string WorkerAddressText(const v1::WorkerHost& address);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_WORKER_LIST_H_
