#include "coordinator/campaign/verdict_recorder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/candidate_reward.h"
#include "coordinator/durable/challengers.h"

namespace whetstone {

bool VerdictRecorder::RecordWithoutMeasuring(int64_t step, int group_index, int sample) {
  const std::vector<CandidateRecord>& samples =
      context_->durable().FindStep(step)->groups[static_cast<size_t>(group_index)].samples;
  const CandidateRecord& record = samples[static_cast<size_t>(sample)];
  if (!record.source) {
    v1::Verdict verdict;
    verdict.set_outcome(v1::NO_CODE);
    verdict.set_detail("the completion holds no ```cpp block");
    verdict.set_worker("coordinator");
    Record(step, group_index, sample, std::move(verdict));
    return true;
  }
  // The same text in the same group is measured once and gets a verdict for each. (Groups do not
  // share: each has its CPU model.)
  for (const CandidateRecord& duplicate : samples) {
    if (!duplicate.verdict || duplicate.source != record.source) continue;
    v1::Verdict verdict = duplicate.verdict->verdict;
    verdict.set_cached(true);
    verdict.clear_stage_times();  // it was measured once
    Record(step, group_index, sample, std::move(verdict));
    return true;
  }
  return false;
}

void VerdictRecorder::Settle(MeasureJob* job, const v1::Verdict& verdict) {
  job->done = true;
  if (job->challenger) {
    IncumbentEntry entry =
        JudgeChallenger(context_->plan(), context_->durable(), job->step,
                        {job->group_index, job->samples.front(), job->source}, verdict);
    context_->Record(entry);
    if (entry.accepted) context_->Emit(action::NewIncumbent{std::move(entry)});
    return;
  }
  for (size_t i = 0; i < job->samples.size(); ++i) {
    v1::Verdict copy = verdict;
    if (i > 0) {
      copy.set_cached(true);
      copy.clear_stage_times();
    }
    Record(job->step, job->group_index, job->samples[i], std::move(copy));
  }
}

void VerdictRecorder::Record(int64_t step, int group_index, int sample, v1::Verdict verdict) {
  const v1::Calibration* const calibration =
      CalibrationFor(verdict, context_->plan().ProblemOf(step, group_index).hash);
  VerdictEntry entry = RewardVerdict(context_->plan(), context_->durable(),
                                     {step, group_index, sample}, std::move(verdict), calibration);
  std::optional<action::Suspect> suspect;
  if (entry.verdict.outcome() == v1::SUSPECT) {
    const GroupRecord& group =
        context_->durable().FindStep(step)->groups[static_cast<size_t>(group_index)];
    suspect =
        action::Suspect{entry, group.samples[static_cast<size_t>(sample)].source.value_or("")};
  }
  context_->Record(std::move(entry));
  if (suspect) context_->Emit(*std::move(suspect));
}

// Returns the calibration of the host that measured, or of any other if that one is not known any
// more.
const v1::Calibration* VerdictRecorder::CalibrationFor(const v1::Verdict& verdict,
                                                       const std::string& problem_hash) const {
  for (const int w : members_->WorkersOn(verdict.worker())) {
    const v1::Calibration* const own = members_->CalibrationOf(w, problem_hash);
    if (own != nullptr) return own;
  }
  for (int w = 0; w < members_->dispatcher().size(); ++w) {
    const v1::Calibration* const other = members_->CalibrationOf(w, problem_hash);
    if (other != nullptr) return other;
  }
  return nullptr;
}

}  // namespace whetstone
