#include "gpu_trainer/rpc/generate_stream.h"

#include <utility>

namespace whetstone {

void GenerateStream::Push(v1::GenerateEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  arrived_.notify_one();
}

void GenerateStream::SetStatus(const GenerateStatus& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
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
  event.mutable_progress()->set_tokens(status_.tokens);
  event.mutable_progress()->set_completions(status_.completions);
  event.mutable_progress()->set_active(status_.active);
  return event;
}

v1::GenerateEvent GenerateStream::EventOf(Completion completion) {
  v1::GenerateEvent event;
  v1::Completion& out = *event.mutable_completion();
  out.set_problem(completion.problem);
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
