// The entries of its journal are what a campaign knows for good, in the order in which they became
// true. The durable state (durable_state.h) is what follows from them. Nothing else survives a
// crash.
#ifndef WHETSTONE_COORDINATOR_DURABLE_JOURNAL_ENTRY_H_
#define WHETSTONE_COORDINATOR_DURABLE_JOURNAL_ENTRY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "whetstone/v1/trainer.pb.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// The entry says how the prompt of one group was tokenised (the ids travel back in the update).
struct PromptEntry {
  int64_t step = 0;  // also an evaluation's, here and below (campaign_plan.h)
  v1::PromptTokens prompt;
};

struct RolloutEntry {
  int64_t step = 0;
  v1::Completion completion;
};

// Each rollout has exactly one.
struct VerdictEntry {
  int64_t step = 0;
  int group_index = 0;
  int sample = 0;
  v1::Verdict verdict;
  double reward = 0;
  bool dropped = false;  // not learned from
};

// A challenger, the fastest candidate of a group that looked faster than its problem's incumbent
// (the best program so far), was measured again in fresh processes. `accepted`: it is the new
// incumbent.
struct IncumbentEntry {
  int64_t step = 0;
  int group_index = 0;
  int sample = 0;
  std::string problem_id;
  std::string source;
  v1::Verdict verdict;
  bool accepted = false;
};

struct UpdateEntry {
  v1::UpdateName name;
  // RequestHash of the request that was answered. The request itself is built again from the
  // entries before (request_builders.h, RecordedRequest).
  std::string request_hash = {};
  v1::UpdateResponse response = {};
  // This update's row of metrics.jsonl.
  std::map<std::string, double> row = {};
  // Only of updates that schema version 2 or older recorded, which have no hash: the request as it
  // was sent.
  std::optional<v1::UpdateRequest> request = {};
};

// An evaluation is complete: every verdict is there.
struct EvaluationEntry {
  v1::UpdateName name;  // phase EVAL
  // Its row of metrics.jsonl.
  std::map<std::string, double> row = {};
};

struct CheckpointEntry {
  v1::UpdateName name;
  std::string path;
  std::string checksum;
  int64_t bytes = 0;
};

// The entry says what reference and expert measure on one host.
struct CalibrationEntry {
  std::string host_id;
  std::string problem_hash;
  v1::Calibration calibration;
};

// `whet run` or `whet resume` began. Changes no state.
struct StartEntry {
  std::string host;
  std::string boot_id;
  std::string version;  // of whet
};

// The trainer loaded a policy. Changes no state.
struct LoadEntry {
  std::string path;
  std::string trainer_version;
  std::string trainer_host_id;
  // As TrainerInfo has it: of the base model; empty for a checkpoint.
  std::string model_sha256;
};

// The operator changed a setting of the campaign: from `step` on, the first of which nothing was
// journaled, a key has another value. Changes no state: the plan has it already
// (CampaignPlan::former). Values are as --set takes them.
struct ChangeEntry {
  int64_t step = 0;
  std::string key;
  std::string before;
  std::string after;
};

using JournalEntry = std::variant<PromptEntry, RolloutEntry, VerdictEntry, IncumbentEntry,
                                  UpdateEntry, EvaluationEntry, CheckpointEntry, CalibrationEntry,
                                  StartEntry, LoadEntry, ChangeEntry>;

// Entries of a journal by their numbers, which count from 1; both ends are part of it.
struct EntryRange {
  int64_t first = 1;
  int64_t last = 0;
};

// Returns "from step 21: train.lr 1e-05 -> 2e-06".
inline std::string ChangeText(const ChangeEntry& entry) {
  return absl::StrCat("from step ", entry.step, ": ", entry.key, " ", entry.before, " -> ",
                      entry.after);
}

// Returns whether the entry is the last of a step or of an evaluation.
inline bool ClosesStep(const JournalEntry& entry) {
  return std::holds_alternative<UpdateEntry>(entry) ||
         std::holds_alternative<EvaluationEntry>(entry);
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_JOURNAL_ENTRY_H_
