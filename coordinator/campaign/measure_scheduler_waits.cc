// What the scheduler waits for, and for how long.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/campaign/dispatcher.h"
#include "coordinator/campaign/measure_scheduler.h"

namespace whetstone {

void MeasureScheduler::CheckWorkers() {
  lost_.CheckPatience(&queue_);
  if (no_worker_since_ < 0 || context_->now() < no_worker_since_ + patience()) return;
  std::string why = "there is none; add one with: whet workers RUN add";
  for (int w = 0; w < members_->dispatcher().size(); ++w) {
    if (members_->gone(w)) continue;
    const std::string& error = members_->last_error(w);
    why = error.empty() ? "no answer" : error;
  }
  context_->Finish(absl::UnavailableError(absl::StrFormat(
      "no worker has been reachable for %.0f s: %s", context_->now() - no_worker_since_, why)));
}

void MeasureScheduler::Excuse(Seconds paused) {
  if (no_worker_since_ >= 0) no_worker_since_ += paused;
}

void MeasureScheduler::WatchWorkers(bool trainer_computes) {
  const Dispatcher& dispatcher = members_->dispatcher();
  bool open = false, could_measure = dispatcher.in_flight() > 0 || !lost_.failing();
  bool cared_for = dispatcher.in_flight() > 0 || members_->AnyPrepares();
  for (const StepMeasuring& step : queue_.steps()) {
    for (size_t j = step.first_open; j < step.jobs.size() && !(cared_for && could_measure); ++j) {
      const MeasureJob& job = step.jobs[j];
      if (job.done || !job.lost.empty()) continue;
      open = true;
      const bool quiet = trainer_computes && (job.challenger || job.checked_by >= 0);
      const std::string model = CpuModelOf(step, job.group_index);
      for (int w = 0; w < dispatcher.size(); ++w) {
        // One that knows no problem yet, and is not taught one, waits for the trainer to be quiet.
        if (!dispatcher.up(w) || dispatcher.draining(w) || !dispatcher.HasModel(w, model)) continue;
        // One that rests has failed, and how long that may go on is lost_'s to say.
        cared_for = true;
        could_measure = could_measure || !quiet || !dispatcher.traits(w).shares_cores;
      }
    }
  }
  lost_.Count(could_measure && !context_->paused());
  if (!open || cared_for) {
    no_worker_since_ = -1;
  } else if (no_worker_since_ < 0) {
    no_worker_since_ = context_->now();
  }
}

void MeasureScheduler::AddWaits(std::vector<Wait>* waits) const {
  for (const StepMeasuring& step : queue_.steps()) {
    for (const MeasureJob& job : step.jobs) {
      for (const MeasureAttempt& a : job.running) {
        waits->push_back(
            {absl::StrCat("verdict of ", job.Place(), " from ", members_->name(a.worker)), a.since,
             a.deadline, /*computes=*/true});
      }
    }
  }
  if (no_worker_since_ >= 0) {
    waits->push_back({"a worker", no_worker_since_, no_worker_since_ + patience()});
  }
  lost_.AddWaits(waits);
}

}  // namespace whetstone
