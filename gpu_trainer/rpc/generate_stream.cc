#include "gpu_trainer/rpc/generate_stream.h"

#include <utility>

namespace whetstone {

void GenerateStream::Push(v1::GenerateEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  arrived_.notify_one();
}

void GenerateStream::SetProgress(int rank, const v1::GenerateProgress& progress) {
  const std::lock_guard lock(mutex_);
  progress_[rank] = progress;
}

std::optional<v1::GenerateEvent> GenerateStream::Next(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!arrived_.wait_for(lock, timeout, [this] { return !events_.empty(); })) return std::nullopt;
  v1::GenerateEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

v1::GenerateEvent GenerateStream::Progress() const {
  const std::lock_guard lock(mutex_);
  v1::GenerateEvent event;
  v1::GenerateProgress& sum = *event.mutable_progress();
  for (const auto& [rank, progress] : progress_) {
    sum.set_tokens(sum.tokens() + progress.tokens());
    sum.set_completions(sum.completions() + progress.completions());
    sum.set_active(sum.active() + progress.active());
  }
  return event;
}

v1::GenerateProgress GenerateStream::ProgressOf(const GenerateStatus& status) {
  v1::GenerateProgress progress;
  progress.set_tokens(status.tokens);
  progress.set_completions(status.completions);
  progress.set_active(status.active);
  return progress;
}

v1::GenerateEvent GenerateStream::EventOf(Completion completion) {
  v1::GenerateEvent event;
  v1::Completion& out = *event.mutable_completion();
  out.set_group_index(completion.group_index);
  out.set_sample(completion.sample);
  out.mutable_ids()->Assign(completion.ids.begin(), completion.ids.end());
  out.mutable_sampling_logprobs()->Assign(completion.logprobs.begin(), completion.logprobs.end());
  out.set_text(std::move(completion.text));
  switch (completion.finish) {
    case Completion::Finish::kStop:
      out.set_finish(v1::Completion::STOP);
      break;
    case Completion::Finish::kLength:
      out.set_finish(v1::Completion::LENGTH);
      break;
    case Completion::Finish::kDeadline:
      out.set_finish(v1::Completion::DEADLINE);
      break;
  }
  return event;
}

}  // namespace whetstone
