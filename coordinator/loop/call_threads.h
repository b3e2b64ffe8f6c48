// Calls that mostly wait get threads: one for each that runs, kept for the next when it ends.
//
//   CallThreads threads;
//   threads.Run([] { … });      // at once, on a thread of its own
//
// It is thread-safe. The destructor waits for what runs: let it end first.
#ifndef WHETSTONE_COORDINATOR_LOOP_CALL_THREADS_H_
#define WHETSTONE_COORDINATOR_LOOP_CALL_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace whetstone {

class CallThreads {
 public:
  CallThreads() = default;
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  void Run(std::function<void()> call);

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<std::function<void()>> calls_;  // that no thread has taken yet
  size_t idle_ = 0;                          // threads that wait, or are about to take a call
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_CALL_THREADS_H_
