// A Generation is one Generate call under way: threads that ask for samples, and a queue of what
// has come, which the call's own thread reads.
//
//   Generation generation(request, options, &client);
//   while (true) {
//     const bool done = generation.Done();
//     if (auto completion = generation.Next(…)) { write it } else if (done) break;
//   }
//   return generation.status();
//
// After the first error no further sample is begun. Requests under way were paid for, so that their
// samples have `finish_grace` to end, and are cancelled then; what they bring still comes out of
// Next.
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_GENERATION_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_GENERATION_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/endpoint/chat_client.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct GenerationOptions {
  int threads = 8;
  std::chrono::milliseconds finish_grace{10'000};
};

// Its threads are its own; all functions are thread-safe.
class Generation {
 public:
  // `request` and `client` are borrowed and must outlive it.
  Generation(const v1::GenerateRequest& request, const GenerationOptions& options,
             ChatClient* client);
  // Cancels what is under way and waits for it, a second at most.
  ~Generation();

  // Returns the next completion, or nothing after `timeout`.
  std::optional<v1::Completion> Next(std::chrono::milliseconds timeout);
  // Returns whether nothing more will come than Next returns without waiting.
  bool Done() const;
  // Returns OK or, once Done, the first error. CANCELLED: Cancel was called before the end.
  absl::Status status() const;
  v1::GenerateProgress Progress() const;
  void Cancel();

 private:
  struct Sample {
    const v1::PromptGroup* group;
    int32_t sample;
  };

  void Run();
  // Returns the next sample to ask for, or nothing if there is none or none may be begun.
  std::optional<Sample> Begin();
  void End(const Sample& sample, absl::StatusOr<ChatAnswer> answer);
  // Says whether requests under way must stop.
  bool MustStop() const;

  const v1::GenerateRequest& request_;
  const GenerationOptions options_;
  ChatClient* const client_;
  std::vector<Sample> samples_;  // constant after construction

  mutable std::mutex mutex_;
  std::condition_variable came_;
  // mutex_ protects these.
  size_t next_ = 0;  // of samples_
  std::deque<v1::Completion> completions_;
  v1::GenerateProgress progress_;
  size_t running_ = 0;  // threads
  bool cancelled_ = false;
  absl::Status failed_;
  std::chrono::steady_clock::time_point failed_at_;

  std::vector<std::thread> threads_;  // the last: they use all the others
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_GENERATION_H_
