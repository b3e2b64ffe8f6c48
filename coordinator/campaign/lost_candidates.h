// What becomes of programs that no worker could measure. Whose doing it is shows what else the same
// workers measure meanwhile: of a program that failed while they did, or that ended workers, it is
// the program's, and it gets its INFRASTRUCTURE_ERROR at once (Drop). Any other that was given up
// waits until its step has all its rollouts and nothing else to measure. If at most half of the
// rollouts are lost then, these are dropped too, and the step goes on without them. Otherwise the
// rest would say little, and all of them are tried anew.
//
// One clock for all workers runs from the first failed attempt since the last usable answer, while
// anything could be measured. At patience.measuring_s what fails in steps of which at least half is
// measured is given up; if nothing is, the campaign ends (CampaignContext::Finish). Nothing of that
// is in the journal: a resumed campaign measures what was lost and not dropped, and counts anew.
//
//   LostCandidates lost(&context, &recorder);
//   lost.Failed(job, "the disk is full");
//   lost.GiveUp(&step, job, "given up after 4 attempts; the last: the disk is full");
//   lost.Answered(worker, began);
//
// The class is part of MeasureScheduler. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_LOST_CANDIDATES_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_LOST_CANDIDATES_H_

#include <map>
#include <string>
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

  // An attempt at the job, whose failed_worker is set, ended without a verdict.
  void Failed(MeasureJob* job, const std::string& why);
  // A usable answer came, of an attempt that the worker began at `began`.
  void Answered(int worker, Seconds began);
  // The same of an attempt that was given up before.
  void AnsweredLate() { since_ = -1; }

  // No attempt at the job runs, and none is made any more, or not for now.
  void GiveUp(StepMeasuring* step, MeasureJob* job, const std::string& why);
  // Gives the job its INFRASTRUCTURE_ERROR at once, and judges its step.
  void Drop(StepMeasuring* step, MeasureJob* job, const std::string& why);
  // Decides about what is lost, if the step has nothing else to measure: a rollout or a verdict has
  // come.
  void Judge(StepMeasuring* step);

  // Returns whether the clock runs, or would.
  bool failing() const { return since_ >= 0; }
  // From now on it does, or stands, because nothing could be measured.
  void Count(bool could_measure);
  // Does what is to be done when it has come to patience.measuring_s.
  void CheckPatience(MeasureQueue* queue);
  void AddWaits(std::vector<Wait>* waits) const;

 private:
  Seconds patience() const { return context_->plan().campaign.patience().measuring_s(); }
  // Returns whether more than half of the step's rollouts are lost or still to be measured.
  bool MostUnmeasured(const StepMeasuring& step) const;
  bool OwnDoing(const MeasureJob& job) const;
  void Settle(MeasureJob* job);

  CampaignContext* const context_;
  VerdictRecorder* const recorder_;
  std::map<int, Seconds> measured_;  // by worker: when its newest attempt that was answered began
  Seconds since_ = -1;  // by the clock, the first failure; negative: there was none since an answer
  std::string why_;     // of the last failure
  bool told_ = false;   // since then, that a step waits
  Seconds counted_at_ = 0;
  bool could_measure_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_LOST_CANDIDATES_H_
