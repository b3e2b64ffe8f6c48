// The journal is the campaign's memory: every entry (journal_entry.h), in order, in one SQLite
// file.
//
//   ASSIGN_OR_RETURN(auto journal, Journal::Open(paths.journal(), campaign_id));
//   RETURN_IF_ERROR(journal->Append(entries));       // one transaction, on disk when it returns
//   RETURN_IF_ERROR(journal->ForEach([&](const JournalEntry& entry) {
//     durable_state.Apply(entry);
//     return absl::OkStatus();
//   }));
//
// docs/formats/journal.md explains every table, for people with an sqlite3 prompt.
//
// It is a write-ahead log with synchronous=FULL: a commit costs an fsync (milliseconds, a few dozen
// times a step), and what the trainer is asked to do is never built on an entry that a power cut
// could take back. A full disk fails the Append as RESOURCE_EXHAUSTED and leaves the journal as it
// was before.
//
// It is not thread-safe. One process writes; readers (`whet status`) open it read-only beside it.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/journal_entry.h"

struct sqlite3;

namespace whetstone {

class RowWriter;

class Journal {
 public:
  // Makes a new journal. ALREADY_EXISTS: there is one.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(const std::string& path,
                                                         const std::string& campaign_id);
  // Opens an existing one. To write, it is checked page by page and brought to this version's
  // schema; read-only it is taken as it is. DATA_LOSS: not a journal, or a damaged one.
  // FAILED_PRECONDITION: written by a newer version.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path,
                                                       bool read_only = false);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& campaign_id() const { return campaign_id_; }

  // Appends all of them or, on an error, none.
  absl::Status Append(const std::vector<JournalEntry>& entries);
  // Visits every entry in order. An error of `visit` ends it and is returned. DATA_LOSS: an entry
  // is missing or damaged, or `visit` says so; the file is named.
  absl::Status ForEach(const std::function<absl::Status(const JournalEntry&)>& visit) const;
  // Returns the request as it was sent. NOT_FOUND: no such update.
  absl::StatusOr<v1::UpdateRequest> FindUpdateRequest(const v1::UpdateName& name) const;
  // Visits the updates only, without their requests: enough for metrics and reports.
  absl::Status ForEachRow(
      const std::function<void(const v1::UpdateName&, const std::map<std::string, double>&)>& visit)
      const;

  // Visits the newest `count` verdicts, the newest first. DATA_LOSS: one is damaged.
  absl::Status ForEachNewestVerdict(int64_t count,
                                    const std::function<void(const VerdictEntry&)>& visit) const;
  // Returns a rollout's completion. NOT_FOUND: no such rollout.
  absl::StatusOr<v1::Completion> FindCompletion(int64_t step, int group_index, int sample) const;

  // Returns whether any rollout or update is in it: something that would be lost with it.
  absl::StatusOr<bool> HasProgress() const;

  // Lets tests fill the disk: the file may not grow beyond `pages` pages from here on (nor beyond
  // its present size, if that is more).
  absl::Status TEST_LimitPages(int pages);

 private:
  explicit Journal(std::string path);
  absl::Status OpenDatabase(int flags);
  // Checks that it is a journal and reads whose it is; returns its schema's version.
  absl::StatusOr<int64_t> Identify();
  absl::Status CheckPages();
  absl::Status Migrate(int64_t version);
  absl::Status Execute(const char* sql);
  absl::Status Error(int code, absl::string_view what) const;
  // Says which file has what a reader found wrong in it, and what to do.
  absl::Status Damaged(const absl::Status& status) const;
  absl::Status ReadNextSeq();

  const std::string path_;
  std::string campaign_id_;
  sqlite3* db_ = nullptr;
  std::unique_ptr<RowWriter> writer_;  // while there is nothing wrong; made when it is needed
  int64_t next_seq_ = 1;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_
