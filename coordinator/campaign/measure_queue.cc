#include "coordinator/campaign/measure_queue.h"

#include <algorithm>
#include <utility>

#include "coordinator/durable/campaign_plan.h"

namespace whetstone {

std::string MeasureJob::Place() const { return RolloutPlace(step, group_index, samples.front()); }

void StepMeasuring::AddRollout(int group_index, int sample, const std::string& source) {
  std::vector<MeasureJob*>& of_group = by_group[group_index];
  for (MeasureJob* job : of_group) {
    if (!job->done && job->source == source) {
      job->samples.push_back(sample);
      return;
    }
  }
  MeasureJob job;
  job.step = step;
  job.group_index = group_index;
  job.samples = {sample};
  job.source = source;
  of_group.push_back(&jobs.emplace_back(std::move(job)));
}

bool StepMeasuring::AllDone() const {
  return std::all_of(jobs.begin(), jobs.end(), [](const MeasureJob& job) { return job.done; });
}

std::optional<Seconds> StepMeasuring::UsualDuration() const {
  constexpr size_t kEnough = 3;
  if (timed_in.size() < kEnough) return std::nullopt;
  std::vector<Seconds> sorted = timed_in;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void MeasureQueue::Open(int64_t step) {
  if (IsEvaluation(step)) {
    steps_.emplace_front(step);
  } else {
    steps_.emplace_back(step);
  }
}

bool MeasureQueue::IsOpen(int64_t step) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [step](const StepMeasuring& open) { return open.step == step; });
}

StepMeasuring& MeasureQueue::StepOf(int64_t step) {
  return *std::find_if(steps_.begin(), steps_.end(),
                       [step](const StepMeasuring& open) { return open.step == step; });
}

void MeasureQueue::CloseFront() {
  const int64_t over = steps_.front().step;
  std::erase_if(calls_, [over](const auto& call) { return call.second->step == over; });
  steps_.pop_front();
}

std::vector<MeasureJob*> MeasureQueue::OpenJobs() {
  std::vector<MeasureJob*> open;
  for (StepMeasuring& step : steps_) {
    for (size_t j = step.first_open; j < step.jobs.size(); ++j) {
      if (!step.jobs[j].done) open.push_back(&step.jobs[j]);
    }
  }
  return open;
}

void MeasureQueue::Started(MeasureJob* job, const MeasureAttempt& attempt) {
  job->running.push_back(attempt);
  calls_[attempt.call] = job;
}

MeasureJob* MeasureQueue::Find(uint64_t call) const {
  const auto it = calls_.find(call);
  return it == calls_.end() ? nullptr : it->second;
}

bool MeasureQueue::AnyRunning(const std::function<bool(const MeasureAttempt&)>& of_these) const {
  for (const StepMeasuring& step : steps_) {
    for (size_t j = step.first_open; j < step.jobs.size(); ++j) {
      const std::vector<MeasureAttempt>& running = step.jobs[j].running;
      if (std::any_of(running.begin(), running.end(), of_these)) return true;
    }
  }
  return false;
}

std::vector<MeasureAttempt>::iterator FindAttempt(MeasureJob* job, uint64_t call) {
  return std::find_if(job->running.begin(), job->running.end(),
                      [call](const MeasureAttempt& a) { return a.call == call; });
}

}  // namespace whetstone
