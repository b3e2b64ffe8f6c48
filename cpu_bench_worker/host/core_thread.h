// A thread that lives on one core and does short jobs there for another thread, which spins on a
// core of its own: writing where a kernel will read, ringing for it, timing the core's clock.
//
//   ASSIGN_OR_RETURN(auto thread, CoreThread::Start(core));
//   thread->Begin([&] { … });   // returns at once
//   while (!thread->Through()) …
//
// One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_HOST_CORE_THREAD_H_
#define WHETSTONE_CPU_BENCH_WORKER_HOST_CORE_THREAD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"

namespace whetstone {

class CoreThread {
 public:
  // FAILED_PRECONDITION: this process may not run on `core`.
  static absl::StatusOr<std::unique_ptr<CoreThread>> Start(int core);
  // Waits for the last job.
  ~CoreThread();
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  // Lets it do `job`, once the one before is through; waits for that.
  void Begin(std::function<void()> job);
  // Whether the last job is through; what it wrote can be read then.
  bool Through() const {
    return through_.load(std::memory_order_acquire) == begun_.load(std::memory_order_relaxed);
  }
  // Spins until it is. Jobs are short and our own: the longest wait is for the core.
  void Await() const;

 private:
  CoreThread() = default;
  void Loop();

  std::function<void()> job_;  // empty: end
  std::atomic<uint32_t> begun_{0};
  std::atomic<uint32_t> through_{0};
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_HOST_CORE_THREAD_H_
