#include "coordinator/endpoint/generation.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace whetstone {

Generation::Generation(const v1::GenerateRequest& request, const GenerationOptions& options,
                       ChatClient* client)
    : request_(request), options_(options), client_(client) {
  for (const v1::PromptGroup& group : request.groups()) {
    for (const int32_t sample : group.samples()) samples_.push_back({&group, sample});
  }
  running_ = std::min(samples_.size(), static_cast<size_t>(std::max(1, options_.threads)));
  for (size_t i = 0, count = running_; i < count; ++i) threads_.emplace_back([this] { Run(); });
}

Generation::~Generation() {
  Cancel();
  for (std::thread& thread : threads_) thread.join();
}

void Generation::Run() {
  const std::function<bool()> must_stop = [this] { return MustStop(); };
  while (const std::optional<Sample> sample = Begin()) {
    const auto answer = [&]() -> absl::StatusOr<ChatAnswer> {
      try {
        const uint32_t seed = SampleSeed(request_.seed(), request_.step(),
                                         sample->group->group_index(), sample->sample);
        return client_->Complete({sample->group->messages(), request_.sampling(), seed}, must_stop);
      } catch (const std::exception& error) {
        return absl::InternalError(absl::StrCat("asking for a completion: ", error.what()));
      }
    };
    End(*sample, answer());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  --running_;
  came_.notify_all();
}

std::optional<Generation::Sample> Generation::Begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (cancelled_ || !failed_.ok() || next_ == samples_.size()) return std::nullopt;
  progress_.set_active(progress_.active() + 1);
  return samples_[next_++];
}

void Generation::End(const Sample& sample, absl::StatusOr<ChatAnswer> answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  progress_.set_active(progress_.active() - 1);
  if (!answer.ok()) {
    if (!cancelled_ && failed_.ok()) {
      failed_ = answer.status();
      failed_at_ = std::chrono::steady_clock::now();
    }
    return;
  }
  progress_.set_completions(progress_.completions() + 1);
  progress_.set_tokens(progress_.tokens() + answer->completion_tokens);
  v1::Completion completion;
  completion.set_group_index(sample.group->group_index());
  completion.set_sample(sample.sample);
  completion.set_text(std::move(answer->text));
  completion.set_finish(answer->finish);
  completion.set_tokens(answer->completion_tokens);
  completions_.push_back(std::move(completion));
  came_.notify_all();
}

bool Generation::MustStop() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (cancelled_) return true;
  return !failed_.ok() && std::chrono::steady_clock::now() - failed_at_ >= options_.finish_grace;
}

std::optional<v1::Completion> Generation::Next(std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  came_.wait_for(lock, timeout, [this] { return !completions_.empty() || running_ == 0; });
  if (completions_.empty()) return std::nullopt;
  v1::Completion completion = std::move(completions_.front());
  completions_.pop_front();
  return completion;
}

bool Generation::Done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return running_ == 0;
}

absl::Status Generation::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failed_.ok()) return failed_;
  const bool complete =
      progress_.completions() == static_cast<int32_t>(samples_.size()) && running_ == 0;
  return complete ? absl::OkStatus() : absl::CancelledError("Generate: cancelled");
}

v1::GenerateProgress Generation::Progress() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return progress_;
}

void Generation::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
}

}  // namespace whetstone
