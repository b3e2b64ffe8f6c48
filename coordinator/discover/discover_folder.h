// A DiscoverFolder is what a search for a faster function leaves on the way and at its end; what is
// there is not done again.
//
//   FOLDER/given            the file that the operator brought, as it was
//   FOLDER/asked            the answers that he gave the import on the command line
//   FOLDER/problem.md       the problem made of it; the operator may edit it until it is approved
//   FOLDER/approved         a copy of the problem.md that the operator approved
//   FOLDER/rules.log        verdicts of what rules made (verdict_log.h)
//   FOLDER/rules.json       what rules found, once they are through; FOLDER/rules/ is its proof
//   FOLDER/rewrites.jsonl   what of it a policy is taught
//   FOLDER/known.jsonl      what of it a model behind an endpoint is shown
//   FOLDER/settings         what the campaign was begun with
//   FOLDER/run/             the campaign, a run directory as any
//   FOLDER/best/            the fastest program with its proof, diff.patch and history.json
//   FOLDER/lock             held by the process that works on it
#ifndef WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_FOLDER_H_
#define WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

class DiscoverFolder {
 public:
  // Says whether a search has begun in `root`.
  static bool Holds(const std::string& root);
  // Makes a new one of a file's text, of how it was asked for and the problem made of both.
  // ALREADY_EXISTS: the folder holds something else.
  static absl::StatusOr<DiscoverFolder> Create(const std::string& root, const std::string& given,
                                               const std::string& asked,
                                               const std::string& problem);
  // Opens one that Holds. ALREADY_EXISTS: it was made of another file, or asked for otherwise
  // (`asked` may be empty: as before). Both: FAILED_PRECONDITION: another process works on it.
  static absl::StatusOr<DiscoverFolder> Open(const std::string& root, const std::string& given,
                                             const std::string& asked);

  const std::string& root() const { return root_; }
  std::string problem() const { return root_ + "/problem.md"; }
  std::string rule_log() const { return root_ + "/rules.log"; }
  std::string rule_result() const { return root_ + "/rules.json"; }
  std::string rule_proof() const { return root_ + "/rules"; }
  std::string rewrites() const { return root_ + "/rewrites.jsonl"; }
  std::string known() const { return root_ + "/known.jsonl"; }
  std::string settings() const { return root_ + "/settings"; }
  std::string run() const { return root_ + "/run"; }
  std::string best() const { return root_ + "/best"; }

  // Says whether the problem, as it is now, was approved.
  bool Approved() const;
  // Approves this text of the problem, and no other.
  absl::Status Approve(const std::string& problem) const;
  // FAILED_PRECONDITION: the problem was edited after rules had begun to rewrite it.
  absl::Status CheckUnchanged() const;
  // ALREADY_EXISTS: the campaign that is there was begun with others (none are given: with those).
  absl::Status CheckSettings(const std::string& settings) const;

 private:
  DiscoverFolder(std::string root, UniqueFd lock)
      : root_(std::move(root)), lock_(std::move(lock)) {}
  static absl::StatusOr<DiscoverFolder> Lock(const std::string& root);
  std::string approved() const { return root_ + "/approved"; }

  std::string root_;
  UniqueFd lock_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_FOLDER_H_
