// Tells which rank is gone. Each rank writes into the store every second that it lives, and how far
// it has come; each reads the others.
//
//   Heartbeat heart(store, rank, size, std::chrono::seconds(1));
//   heart.Working();                            // after each piece of work, from any thread
//   if (!heart.Lost().ok()) …                   // UNAVAILABLE: "rank 3 … "
//
// Time is counted in own beats, not by the clock: where a whole machine is suspended for a while,
// nobody takes the others for dead.
//
// Thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_DISTRIBUTED_HEARTBEAT_H_
#define WHETSTONE_GPU_TRAINER_DISTRIBUTED_HEARTBEAT_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "absl/status/status.h"

namespace whetstone {

class Heartbeat {
 public:
  // `store` serves this object alone (Store::clone). Returns when the first beat is written.
  Heartbeat(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
            std::chrono::milliseconds period);
  ~Heartbeat();

  // A piece of work was done: whoever waits for this rank may go on waiting.
  void Working() { ++work_; }
  // This rank comes to its next meeting with the others.
  void Meeting() { ++meetings_; }

  // UNAVAILABLE: a rank that has been silent for 15 beats, or the store of rank 0 has.
  absl::Status Lost() const;
  // Names, after a connection broke, who has been silent longest. Takes some beats to tell.
  absl::Status WhoBroke(const std::string& what) const;
  // Returns the beats of this rank so far.
  int64_t Beats() const;
  // Returns the beats since anybody, this rank included, last did a piece of work.
  int BeatsWithoutWork() const;
  // Names the ranks that have not come to this rank's last meeting.
  std::string WhoIsMissing() const;

 private:
  struct Other {
    std::string last;  // What it wrote last.
    int silent = 0;    // Beats since that changed.
    int64_t work = 0, meetings = 0;
  };

  void Loop();
  void Write();
  void Read();

  const c10::intrusive_ptr<c10d::Store> store_;
  const int rank_, size_;
  const std::chrono::milliseconds period_;
  std::atomic<int64_t> work_ = 0, meetings_ = 0;
  int64_t written_ = 0;  // Only the loop touches it.

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // mutex_ protects these five.
  std::vector<Other> others_;  // By rank.
  int64_t beats_ = 0;
  int without_work_ = 0;
  std::string store_error_;  // Not empty: the store is gone.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_HEARTBEAT_H_
