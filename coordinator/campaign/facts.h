// What a campaign knows for good. The journal holds facts in the order they became true; the
// ledger is what follows from them. Nothing else survives a crash.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_FACTS_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "whetstone/v1/trainer.pb.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// How the prompt of one group was tokenised (the ids travel back in the update).
struct PromptFact {
  int64_t step = 0;
  v1::PromptTokens prompt;
};

struct RolloutFact {
  int64_t step = 0;
  v1::Completion completion;
};

// Exactly one for each rollout.
struct VerdictFact {
  int64_t step = 0;
  int group = 0;
  int sample = 0;
  v1::Verdict verdict;
  double reward = 0;
  bool dropped = false;  // not learned from
};

// The fastest candidate of a group was measured again in fresh processes, because it looked faster
// than the problem's best so far. `accepted`: it is the new best.
struct LeaderFact {
  int64_t step = 0;
  int group = 0;
  int sample = 0;
  std::string problem_id;
  std::string source;
  v1::Verdict verdict;
  bool accepted = false;
};

struct UpdateFact {
  v1::UpdateRequest request;
  v1::UpdateResponse response;
  // This update's row of metrics.jsonl.
  std::map<std::string, double> row;
};

struct CheckpointFact {
  v1::UpdateName name;
  std::string path;
  std::string checksum;
  int64_t bytes = 0;
};

// What reference and expert measure on one host.
struct CalibrationFact {
  std::string host_id;
  std::string problem_hash;
  v1::Calibration calibration;
};

using Fact = std::variant<PromptFact, RolloutFact, VerdictFact, LeaderFact, UpdateFact,
                          CheckpointFact, CalibrationFact>;

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_FACTS_H_
