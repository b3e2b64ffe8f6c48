// The journal is the campaign's memory: every entry (journal_entry.h), in order, in one SQLite
// file.
//
//   ASSIGN_OR_RETURN(auto journal, Journal::Open(paths.journal()));
//   ASSIGN_OR_RETURN(DurableState durable, journal->Restore(plan));
//   RETURN_IF_ERROR(journal->Append(entries, UnixMicros(), {}));   // one transaction, on disk when
//                                                                  // it returns
//   RETURN_IF_ERROR(journal->ForEach([&](const JournalEntry& entry) { … }));
//
// docs/formats/journal.md explains every table, for people with an sqlite3 prompt.
//
// It is a write-ahead log with synchronous=FULL: a commit costs an fsync (milliseconds, a few dozen
// times a step), and what the trainer is asked to do is never built on an entry that a power cut
// could take back. A full disk fails the Append as RESOURCE_EXHAUSTED and leaves the journal as it
// was before. On a network file system it is a rollback journal instead, and who reads has a copy.
//
// Every row has a checksum, and each that is read is checked: a damaged one is DATA_LOSS and named.
// What is not read is not looked at, so that opening a long campaign takes no longer than a short
// one: Restore begins with the newest good snapshot of the durable state.
//
// It is not thread-safe. One process writes; readers (`whet status`) open it read-only beside it,
// and need no permission to write there, nor space.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/journal_entry.h"
#include "whetstone/v1/snapshot.pb.h"

struct sqlite3;

namespace whetstone {

class RowWriter;
struct JournalFile;

// An update's row of metrics.jsonl.
struct MetricsRow {
  v1::UpdateName name;
  // When the update was done, microseconds since 1970; nothing where an earlier version wrote it.
  std::optional<int64_t> time_us;
  std::map<std::string, double> values;
};

// A setting that was changed in the course of the run.
struct RecordedChange {
  ChangeEntry change;
  int64_t time_us = 0;  // since 1970
};

class Journal {
 public:
  // Makes a new journal. ALREADY_EXISTS: there is one.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(const std::string& path,
                                                         const std::string& campaign_id);
  // Opens an existing one; `path` is absolute. A file of an older version is checked page by page
  // and brought to this version's schema: itself to write, a temporary copy of it to read.
  // `own_checkpoints`: the run's checkpoints are in its own directory, wherever an older version,
  // which stored absolute paths, said that they are. DATA_LOSS: not a journal, or a damaged one.
  // FAILED_PRECONDITION: written by a newer version.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path,
                                                       bool read_only = false,
                                                       bool own_checkpoints = false);
  // Whether the file at `path` is none or holds nothing: the maker of a journal was killed at it.
  static bool IsEmpty(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& campaign_id() const { return facts_.at("campaign_id"); }
  // Returns a fact about the file that no entry says (docs/formats/journal.md); empty: none.
  std::string Fact(const std::string& key) const;
  // Writes such facts, all or none.
  absl::Status SetFacts(const std::map<std::string, std::string>& facts);

  // Appends all of them or, on an error, none. `time_us`: when they became true, microseconds since
  // 1970. `snapshot`: of the durable state with them, if one is due.
  absl::Status Append(const std::vector<JournalEntry>& entries, int64_t time_us,
                      const std::optional<v1::StateSnapshot>& snapshot = std::nullopt);
  // Whether the next update's Append should bring a snapshot: so many entries came since the last.
  bool SnapshotDue() const { return next_seq_ - 1 - snapshot_seq_ >= snapshot_every_; }
  // Returns what follows from all entries: the newest snapshot that is whole, the entries of the
  // steps that were open then, and those that came later. Without a snapshot, all entries.
  // DATA_LOSS: one of these is missing, damaged, or can not come next.
  absl::StatusOr<DurableState> Restore(const CampaignPlan& plan) const;
  // Visits every entry in order. An error of `visit` ends it and is returned. DATA_LOSS: an entry
  // is missing or damaged, or `visit` says so; the file is named.
  absl::Status ForEach(const std::function<absl::Status(const JournalEntry&)>& visit) const;
  // Visits the entries of that range, as ForEach, and says when each was appended: microseconds
  // since 1970; nothing where version 2 or older wrote it.
  absl::Status ForEachIn(
      const EntryRange& range,
      const std::function<absl::Status(const JournalEntry&, std::optional<int64_t> time_us)>& visit)
      const;
  // Returns the range in which GRPO steps `first` to `last` were, or, where both are the same and
  // not positive, that evaluation: from the update or evaluation before their first prompt to the
  // last of their rollouts, verdicts, updates and checkpoints. NOT_FOUND: they have no rollouts.
  absl::StatusOr<EntryRange> FindSteps(int64_t first, int64_t last) const;
  // Returns the request as it was sent, built again from its step's entries. NOT_FOUND: no such
  // update. DATA_LOSS: as RecordedRequest.
  absl::StatusOr<v1::UpdateRequest> FindUpdateRequest(const CampaignPlan& plan,
                                                      const v1::UpdateName& name) const;
  // Visits the updates' rows only, in order: enough for metrics and reports.
  absl::Status ForEachRow(const std::function<void(const MetricsRow&)>& visit) const;
  // Returns the changes of settings, in order.
  absl::StatusOr<std::vector<RecordedChange>> Changes() const;

  // Visits the newest `count` verdicts, the newest first. DATA_LOSS: one is damaged.
  absl::Status ForEachNewestVerdict(int64_t count,
                                    const std::function<void(const VerdictEntry&)>& visit) const;
  // Returns what is known of a step or of an evaluation, whether its update is done or not; but for
  // the policy that sampled its groups. Where parents are searched for, all that came before is
  // read, or since a snapshot. NOT_FOUND: it has no rollouts.
  absl::StatusOr<StepRecord> FindStep(const CampaignPlan& plan, int64_t step) const;
  // Returns a rollout's completion. NOT_FOUND: no such rollout.
  absl::StatusOr<v1::Completion> FindCompletion(int64_t step, int group_index, int sample) const;

  // Returns when the newest entry was appended, microseconds since 1970; nothing: there is none, or
  // nobody knows.
  absl::StatusOr<std::optional<int64_t>> LastTimeUs() const;

  // Returns the path of the first checkpoint that was saved; empty if none was.
  absl::StatusOr<std::string> FirstCheckpoint() const;

  // Makes a journal at `path`, where there is none, of what this one held when it had saved that
  // checkpoint. NOT_FOUND: it never did.
  absl::StatusOr<std::unique_ptr<Journal>> ForkTo(const std::string& path,
                                                  const v1::UpdateName& checkpoint) const;

  // Returns whether any rollout or update is in it: something that would be lost with it.
  absl::StatusOr<bool> HasProgress() const;

  // Lets tests fill the disk: the file may not grow beyond `pages` pages from here on (nor beyond
  // its present size, if that is more).
  absl::Status TEST_LimitPages(int pages);
  // Lets tests of few entries see snapshots.
  void TEST_SetSnapshotEvery(int64_t entries) { snapshot_every_ = entries; }

 private:
  explicit Journal(std::string path);
  absl::Status OpenDatabase(const std::string& name, int flags);
  // Opens the file, which somebody may be writing, or a copy where this process can not write
  // beside a file that nobody is writing.
  absl::Status OpenToRead();
  absl::Status OpenToWrite();
  // Chooses how SQLite keeps transactions whole, by where the file lies.
  absl::Status SetMode();
  // Checks that it is a journal and reads whose it is; returns its schema's version.
  absl::StatusOr<int64_t> Identify();
  absl::Status CheckPages();
  // Goes on with a copy. UNAVAILABLE: the writer would wait for it for more than 10 s.
  absl::Status CopyToTemporary();
  absl::Status Migrate(int64_t version, bool own_checkpoints);
  absl::Status MigrateRows(bool own_checkpoints);
  absl::Status Execute(const char* sql) const;
  absl::Status Error(int code, absl::string_view what) const;
  absl::Status ReadPosition();
  // Says which file has what a reader found wrong in it, and what to do.
  absl::Status Damaged(const absl::Status& status) const;
  absl::Status WriteSnapshot(v1::StateSnapshot snapshot, int64_t seq, int64_t time_us);
  // The durable state at `snapshot`, which was taken after entry `seq`.
  absl::StatusOr<DurableState> StateAt(const CampaignPlan& plan, v1::StateSnapshot snapshot,
                                       int64_t seq) const;
  // The durable state after entry `last`, from the newest snapshot before it that can be used.
  absl::StatusOr<DurableState> StateAfter(const CampaignPlan& plan, int64_t last) const;
  JournalFile file() const;

  const std::string path_;
  std::optional<TempDir> copy_;  // what is read instead
  std::map<std::string, std::string> facts_;
  sqlite3* db_ = nullptr;
  std::unique_ptr<RowWriter> writer_;  // while there is nothing wrong; made when it is needed
  int64_t next_seq_ = 1;
  int64_t snapshot_seq_ = 0;  // of the newest snapshot
  int64_t snapshot_every_ = 2048;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_H_
