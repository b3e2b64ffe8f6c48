#include "coordinator/campaign/lost_candidates.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {
namespace {

std::string NameOfStep(const StepMeasuring& step) { return PhaseStep(StepName(step.step)); }

}  // namespace

void LostCandidates::CheckPatience(const MeasureQueue& queue) {
  for (const StepMeasuring& step : queue.steps()) {
    if (step.lost_since < 0 || context_->now() < step.lost_since + patience()) continue;
    context_->Finish(absl::UnavailableError(absl::StrFormat(
        "for %.0f s (measure.patience_s) no worker could measure for %s: %s; nothing is learned "
        "from the rest; see to the workers (whet workers RUN, logs/), then: whet resume RUN",
        patience(), NameOfStep(step), step.lost_text)));
  }
}

void LostCandidates::Judge(MeasureQueue* queue) {
  for (StepMeasuring& step : queue->steps()) JudgeStep(&step);
}

void LostCandidates::JudgeStep(StepMeasuring* step) {
  std::vector<MeasureJob*> jobs;
  int lost = 0;
  for (size_t j = step->first_open; j < step->jobs.size(); ++j) {
    MeasureJob& job = step->jobs[j];
    if (job.done) continue;
    if (job.lost.empty()) return;
    jobs.push_back(&job);
    lost += static_cast<int>(job.samples.size());
  }
  const StepRecord& record = *context_->durable().FindStep(step->step);
  if (jobs.empty() || !record.HasAllRollouts()) return;
  int programs = 0;
  for (const GroupRecord& group : record.groups) {
    for (const CandidateRecord& candidate : group.samples) {
      programs += candidate.source ? 1 : 0;
      lost += candidate.verdict && candidate.verdict->dropped ? 1 : 0;
    }
  }
  if (2 * lost <= programs) {
    step->lost_since = -1;
    step->measure_again_at = 0;
    for (MeasureJob* job : jobs) Drop(job);
    return;
  }
  const Seconds now = context_->now();
  if (step->measure_again_at == 0) {
    step->measure_again_at = now + kMeasureAgainDelay;
    step->lost_text = absl::StrFormat("%d of its %d programs are lost, the last: %s", lost,
                                      programs, jobs.back()->lost);
  }
  if (step->lost_since < 0) {
    step->lost_since = now;
    context_->Notice(absl::StrCat(NameOfStep(*step), " waits for workers that measure: ",
                                  step->lost_text, "; they are measured again"));
  }
  if (now < step->measure_again_at) return;
  step->measure_again_at = 0;
  for (MeasureJob* job : jobs) {
    job->lost.clear();
    job->failures = 0;
    job->failed_worker = -1;
    ++job->retry_suffix;
  }
}

void LostCandidates::Drop(MeasureJob* job) {
  v1::Verdict verdict;
  verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
  verdict.set_detail(job->lost);
  context_->Notice(absl::StrCat("candidate ", job->Place(), " dropped: ", job->lost));
  recorder_->Settle(job, verdict);
}

void LostCandidates::AddWaits(const MeasureQueue& queue, std::vector<Wait>* waits) const {
  for (const StepMeasuring& step : queue.steps()) {
    if (step.lost_since < 0) continue;
    waits->push_back(
        {absl::StrCat("workers that measure for ", NameOfStep(step), ", where ", step.lost_text),
         step.lost_since, step.lost_since + patience()});
  }
}

}  // namespace whetstone
