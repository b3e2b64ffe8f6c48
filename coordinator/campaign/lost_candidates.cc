#include "coordinator/campaign/lost_candidates.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {

void LostCandidates::Failed(MeasureJob* job, const std::string& why) {
  const Seconds now = context_->now();
  job->failed_since.emplace(job->failed_worker, now);
  why_ = why;
  if (since_ >= 0) return;
  since_ = now;
  told_ = false;
}

void LostCandidates::Answered(int worker, Seconds began) {
  Seconds& newest = measured_[worker];
  newest = std::max(newest, began);
  since_ = -1;
}

bool LostCandidates::OwnDoing(const MeasureJob& job) const {
  return std::any_of(job.failed_since.begin(), job.failed_since.end(), [this](const auto& failed) {
    const auto measured = measured_.find(failed.first);
    return measured != measured_.end() && measured->second > failed.second;
  });
}

void LostCandidates::GiveUp(StepMeasuring* step, MeasureJob* job, const std::string& why) {
  if (OwnDoing(*job)) {
    return Drop(step, job, absl::StrCat(why, " (others were measured there meanwhile)"));
  }
  job->lost = why;
  Judge(step);
}

void LostCandidates::Drop(StepMeasuring* step, MeasureJob* job, const std::string& why) {
  job->lost = why;
  Settle(job);
  Judge(step);
}

void LostCandidates::Settle(MeasureJob* job) {
  v1::Verdict verdict;
  verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
  verdict.set_detail(job->lost);
  context_->Notice(absl::StrCat("candidate ", job->Place(), " dropped: ", job->lost));
  recorder_->Settle(job, verdict);
}

bool LostCandidates::MostUnmeasured(const StepMeasuring& step) const {
  size_t unmeasured = step.lost;
  for (size_t j = step.first_open; j < step.jobs.size(); ++j) {
    const MeasureJob& job = step.jobs[j];
    if (!job.done && !job.challenger) unmeasured += job.samples.size();
  }
  return 2 * unmeasured > context_->durable().FindStep(step.step)->size();
}

void LostCandidates::Judge(StepMeasuring* step) {
  const StepRecord& record = *context_->durable().FindStep(step->step);
  if (static_cast<size_t>(record.rollouts) < record.size()) return;
  std::vector<MeasureJob*> jobs;
  for (size_t j = step->first_open; j < step->jobs.size(); ++j) {
    if (step->jobs[j].done) continue;
    if (step->jobs[j].lost.empty()) return;
    jobs.push_back(&step->jobs[j]);
  }
  if (jobs.empty()) return;
  if (!MostUnmeasured(*step)) {
    for (MeasureJob* job : jobs) {
      if (!job->challenger) step->lost += job->samples.size();
      Settle(job);
    }
    return;
  }
  if (!told_) {
    told_ = true;
    context_->Notice(absl::StrCat(
        PhaseStep(StepName(step->step)), " waits for workers that measure: most of its ",
        record.size(), " rollouts are lost, the last: ", why_, "; they are measured again"));
  }
  for (MeasureJob* job : jobs) {
    job->lost.clear();
    job->failures = 0;
  }
}

void LostCandidates::Count(bool could_measure) {
  const Seconds now = context_->now();
  if (since_ >= 0 && !could_measure_) since_ = std::min(now, since_ + now - counted_at_);
  counted_at_ = now;
  could_measure_ = could_measure;
}

void LostCandidates::CheckPatience(MeasureQueue* queue) {
  Count(could_measure_);
  if (since_ < 0 || context_->now() < since_ + patience()) return;
  bool goes_on = false;
  for (StepMeasuring& step : queue->steps()) {
    if (MostUnmeasured(step)) continue;
    for (size_t j = step.first_open; j < step.jobs.size(); ++j) {
      MeasureJob& job = step.jobs[j];
      if (job.done || !job.lost.empty() || job.failed_since.empty()) continue;
      goes_on = true;
      if (job.running.empty()) {
        GiveUp(&step, &job,
               absl::StrFormat("given up as nothing was measured for %.0f s; the last: %s",
                               patience(), why_));
      }
    }
  }
  if (goes_on) {
    since_ = context_->now();
    return;
  }
  context_->Finish(absl::UnavailableError(absl::StrFormat(
      "for %.0f s (patience.measuring_s) no worker could measure anything: %s; nothing is learned "
      "from the rest of a step of which most is lost; see to the workers (whet workers RUN, "
      "logs/), then: whet resume RUN",
      patience(), why_)));
}

void LostCandidates::AddWaits(std::vector<Wait>* waits) const {
  if (since_ < 0 || !could_measure_) return;
  waits->push_back({absl::StrCat("a worker that measures; the last attempt: ", why_), since_,
                    since_ + patience()});
}

}  // namespace whetstone
