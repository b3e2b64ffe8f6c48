// Stands between the engine, which computes on one thread, and the client's stream, which another
// thread writes: a slow client never holds up the decoder, and a lost one stops it.
#ifndef WHETSTONE_GPU_TRAINER_RPC_GENERATE_STREAM_H_
#define WHETSTONE_GPU_TRAINER_RPC_GENERATE_STREAM_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "gpu_trainer/engine/engine.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// It is thread-safe for producers and one consumer.
class GenerateStream {
 public:
  // `unwanted` says, on the producers' threads, that nobody may have the rest: the consumer may be
  // held up by a client that reads nothing. It may be empty.
  explicit GenerateStream(std::function<bool()> unwanted = nullptr)
      : unwanted_(std::move(unwanted)) {}

  // These are for producers.
  void Push(v1::GenerateEvent event);
  // Takes how far a rank is; Progress adds the ranks up.
  void SetProgress(int rank, const v1::GenerateProgress& progress);
  bool cancelled() const { return cancelled_ || (unwanted_ && unwanted_()); }

  // The consumer's Next returns the next event, or nothing after `timeout`.
  std::optional<v1::GenerateEvent> Next(std::chrono::milliseconds timeout);
  v1::GenerateEvent Progress() const;
  void Cancel() { cancelled_ = true; }

  static v1::GenerateEvent EventOf(Completion completion);
  static v1::GenerateProgress ProgressOf(const GenerateStatus& status);

 private:
  const std::function<bool()> unwanted_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<v1::GenerateEvent> events_;          // Guarded by mutex_.
  std::map<int, v1::GenerateProgress> progress_;  // By rank; guarded by mutex_.
  std::atomic<bool> cancelled_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_GENERATE_STREAM_H_
