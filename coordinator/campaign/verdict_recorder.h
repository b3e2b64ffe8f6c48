// A verdict becomes a journal entry with its reward for every rollout that wrote the program, or,
// of a challenger, perhaps its problem's new incumbent.
//
//   VerdictRecorder recorder(&context, &members);
//   if (!recorder.RecordWithoutMeasuring(step, group, sample)) Measure(…);
//   recorder.Settle(&job, verdict);
//
// The recorder is part of MeasureScheduler. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_VERDICT_RECORDER_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_VERDICT_RECORDER_H_

#include <cstdint>
#include <string>

#include "coordinator/campaign/campaign_context.h"
#include "coordinator/campaign/measure_queue.h"
#include "coordinator/campaign/membership.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

class VerdictRecorder {
 public:
  // Both are borrowed.
  VerdictRecorder(CampaignContext* context, const Membership* members)
      : context_(context), members_(members) {}

  // Records the verdict of an open step's rollout if that needs no measurement: because it has no
  // code, or because another of its group wrote the same and has a verdict. Returns whether it did.
  bool RecordWithoutMeasuring(int64_t step, int group_index, int sample);
  // Records what `verdict` means for the job, which is done by that.
  void Settle(MeasureJob* job, const v1::Verdict& verdict);

 private:
  void Record(int64_t step, int group_index, int sample, v1::Verdict verdict);
  const v1::Calibration* CalibrationFor(const v1::Verdict& verdict,
                                        const std::string& problem_hash) const;

  CampaignContext* const context_;
  const Membership* const members_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_VERDICT_RECORDER_H_
