// One thread computes. LibTorch keeps an OpenMP team for every thread that starts parallel work,
// and the policy must not be used by two calls at once: so every call's work runs here, in order of
// arrival, while the call's own thread waits (and answers the client meanwhile).
//
//   ComputeThread compute(threads, torch::kCPU);
//   ComputeThread::Ticket ticket = compute.Submit("Update", [&] { return …; });
//   while (!ticket.WaitFor(std::chrono::seconds(1))) … tell the client …;
//   return ticket.status();
//
// Thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_RPC_COMPUTE_THREAD_H_
#define WHETSTONE_GPU_TRAINER_RPC_COMPUTE_THREAD_H_

#include <torch/types.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"

namespace whetstone {

class ComputeThread {
  struct Task;

 public:
  // A Ticket is the promise of one piece of work. Copies share it.
  class Ticket {
   public:
    // Returns true once the work is done.
    bool WaitFor(std::chrono::milliseconds timeout) const;
    // It may be asked after WaitFor returned true.
    absl::Status status() const;

   private:
    friend class ComputeThread;
    explicit Ticket(std::shared_ptr<Task> task) : task_(std::move(task)) {}
    std::shared_ptr<Task> task_;
  };

  // `threads` is how many CPU threads LibTorch uses for the work; 0: as many as there are cores.
  // `device` becomes the thread's current one (profile/device.h).
  ComputeThread(int threads, torch::Device device);
  // Waits for the work in progress; what is still queued ends with UNAVAILABLE.
  ~ComputeThread();

  // Exceptions end at the boundary (rpc_boundary.h); `name` goes into their message. What `work`
  // borrows must live until the ticket is done.
  Ticket Submit(std::string name, std::function<absl::Status()> work);

  // Returns the threads in use.
  int threads() const { return threads_; }
  // Returns the name of the work in progress; empty: idle.
  std::string Busy() const;

 private:
  void Loop(torch::Device device);

  mutable std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::deque<std::shared_ptr<Task>> queue_;  // guarded by mutex_
  std::string busy_;                         // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  int threads_ = 0;                          // constant after construction
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_COMPUTE_THREAD_H_
