// The TrainerTimeline draws the trainer in a trace of a run, from the journal's entries in their
// order: what it did, one thing after another (generate, update, save, load), and beside that each
// completion from when it was asked for to its end.
//
//   TrainerTimeline trainer(&plan, &trace);
//   trainer.Prompt(step, time_us);
//   const TraceTracks::Placed completion = trainer.Completion(step, begin_us, time_us, args);
//   const std::optional<TraceTracks::Placed> update = trainer.Update(entry, 0, time_us);
//   trainer.End();
//
// The journal says when a thing was done, and of most how long it took. A round of generation
// begins with its prompts, or where one that was broken off goes on.
#ifndef WHETSTONE_COORDINATOR_TRACE_TRAINER_TIMELINE_H_
#define WHETSTONE_COORDINATOR_TRACE_TRAINER_TIMELINE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/trace/trace_file.h"
#include "coordinator/trace/trace_tracks.h"

namespace whetstone {

// All times are microseconds since 1970, and entries' are when they were journaled. It is not
// thread-safe.
class TrainerTimeline {
 public:
  // Both are borrowed.
  TrainerTimeline(const CampaignPlan* plan, TraceFile* trace);

  // The trace begins: nothing before is drawn.
  void Begin(int64_t at_us) { free_us_ = at_us; }
  // The prompt of a group of `step` was tokenised: the first thing of its generation.
  void Prompt(int64_t step, int64_t at_us);
  // A completion of `step` ended; its group's prompt came at `prompt_us` (nothing: before the trace
  // began).
  TraceTracks::Placed Completion(int64_t step, std::optional<int64_t> prompt_us, int64_t at_us,
                                 const nlohmann::ordered_json& args);
  // An update was done that did not begin before `not_before_us`. Nothing where the trainer had no
  // part in it: the policy is frozen.
  std::optional<TraceTracks::Placed> Update(const UpdateEntry& entry, int64_t not_before_us,
                                            int64_t at_us);
  void Checkpoint(const CheckpointEntry& entry, int64_t at_us);
  // `whet` was started (again); services start, and a policy is loaded.
  void Start(int64_t at_us);
  void Load(const LoadEntry& entry, int64_t at_us);
  // Draws what is not over yet.
  void End() { EndRound(); }

 private:
  // One call of Generate, or several of one step with nothing between.
  struct Round {
    int64_t step = 0;
    int64_t begin_us = 0;
    int64_t end_us = 0;
    int64_t prompts = 0;
    int64_t completions = 0;
  };

  void EndRound();
  // Draws what the trainer did in that time, or what of it was left by what it did before.
  TraceTracks::Placed Did(const std::string& name, TraceSpan span,
                          const nlohmann::ordered_json& args);

  const CampaignPlan* const plan_;
  const int process_;
  TraceTracks policy_;
  TraceTracks sequences_;
  std::optional<Round> round_;
  int64_t free_us_ = 0;     // the trainer has done what it did until then
  int64_t resumed_us_ = 0;  // when generation last went on after a start or a load
  bool starting_ = false;   // since then nothing was loaded
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_TRAINER_TIMELINE_H_
