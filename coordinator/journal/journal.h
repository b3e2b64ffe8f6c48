// The campaign's memory: every fact (facts.h), in order, in one SQLite file.
//
//   ASSIGN_OR_RETURN(auto journal, Journal::Open(paths.journal(), campaign_id));
//   RETURN_IF_ERROR(journal->Append(facts));       // one transaction, on disk when it returns
//   RETURN_IF_ERROR(journal->ForEach([&](const Fact& fact) {
//     ledger.Apply(fact);
//     return absl::OkStatus();
//   }));
//
// docs/formats/journal.md explains every table, for people with an sqlite3 prompt.
//
// Write-ahead log with synchronous=FULL: a commit costs an fsync (milliseconds, a few dozen times a
// step), and what the trainer is asked to do is never built on a fact that a power cut could take
// back. A full disk fails the Append as RESOURCE_EXHAUSTED and leaves the journal as it was before.
//
// Not thread-safe. One process writes; readers (`whet status`) open it read-only beside it.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/campaign/facts.h"

struct sqlite3;

namespace whetstone {

class RowWriter;

class Journal {
 public:
  // A new journal; ALREADY_EXISTS if there is one.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(const std::string& path,
                                                         const std::string& campaign_id);
  // An existing one. To write, it is checked page by page and brought to this version's schema;
  // read-only it is taken as it is. DATA_LOSS: not a journal, or a damaged one.
  // FAILED_PRECONDITION: written by a newer version.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path,
                                                       bool read_only = false);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& campaign_id() const { return campaign_id_; }

  // All or nothing.
  absl::Status Append(const std::vector<Fact>& facts);
  // In order. An error of `visit` ends it and is returned. DATA_LOSS: a fact is missing or damaged.
  absl::Status ForEach(const std::function<absl::Status(const Fact&)>& visit) const;
  // NOT_FOUND: no such update.
  absl::StatusOr<v1::UpdateRequest> FindUpdateRequest(const v1::UpdateName& name) const;
  // Only updates, without their requests: enough for metrics and reports.
  absl::Status ForEachRow(
      const std::function<void(const v1::UpdateName&, const std::map<std::string, double>&)>& visit)
      const;

  // Whether any rollout or update is in it: something that would be lost with it.
  absl::StatusOr<bool> HasProgress() const;

  // For tests of a full disk: the file may not grow beyond `pages` pages from here on (nor beyond
  // its present size, if that is more).
  absl::Status TEST_LimitPages(int pages);

 private:
  explicit Journal(std::string path);
  absl::Status OpenDatabase(int flags);
  // That it is a journal, its schema's version, and whose it is.
  absl::StatusOr<int64_t> Identify();
  absl::Status CheckPages();
  absl::Status Migrate(int64_t version);
  absl::Status Execute(const char* sql);
  absl::Status Error(int code, absl::string_view what) const;
  absl::Status ReadNextSeq();

  const std::string path_;
  std::string campaign_id_;
  sqlite3* db_ = nullptr;
  std::unique_ptr<RowWriter> writer_;  // while there is nothing wrong; made when it is needed
  int64_t next_seq_ = 1;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_
