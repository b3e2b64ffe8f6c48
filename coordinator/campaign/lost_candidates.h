// What becomes of programs that no worker could measure. One that was given up waits until its step
// has nothing else to measure. Were not most of the step's lost, each then gets its
// INFRASTRUCTURE_ERROR, and the step goes on without them. Otherwise the rest would say little, and
// something is wrong with the workers: the step waits, the lost ones are measured again, and after
// measure.patience_s in which nothing was measured the campaign ends (CampaignContext::Finish).
// Nothing of that is in the journal, so that a resumed campaign measures them too.
//
//   LostCandidates lost(&context, &recorder);
//   job->lost = "given up after 4 attempts; the last: the disk is full";
//   lost.Judge(&queue);
//
// The class is part of MeasureScheduler. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_LOST_CANDIDATES_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_LOST_CANDIDATES_H_

#include <vector>

#include "coordinator/campaign/campaign_context.h"
#include "coordinator/campaign/measure_queue.h"
#include "coordinator/campaign/verdict_recorder.h"
#include "coordinator/campaign/wait.h"

namespace whetstone {

class LostCandidates {
 public:
  // Both are borrowed.
  LostCandidates(CampaignContext* context, VerdictRecorder* recorder)
      : context_(context), recorder_(recorder) {}

  // Decides about the lost jobs of every open step.
  void Judge(MeasureQueue* queue);
  // Ends the campaign if a step has waited for too long.
  void CheckPatience(const MeasureQueue& queue);
  // Gives a lost job its INFRASTRUCTURE_ERROR at once.
  void Drop(MeasureJob* job);
  // Names the steps that wait.
  void AddWaits(const MeasureQueue& queue, std::vector<Wait>* waits) const;

 private:
  Seconds patience() const { return context_->plan().campaign.measure().patience_s(); }
  void JudgeStep(StepMeasuring* step);

  CampaignContext* const context_;
  VerdictRecorder* const recorder_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_LOST_CANDIDATES_H_
