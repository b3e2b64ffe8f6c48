#include "gpu_trainer/kernels/parallel.h"

#include <omp.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace whetstone {
namespace {

// A helper looks so long for the next loop before it sleeps: loops of one decoding step follow each
// other within a few microseconds, and waking a sleeper takes 20 to 40.
constexpr auto kSpin = std::chrono::microseconds(50);

inline void Pause() { __builtin_ia32_pause(); }

thread_local bool inside = false;

// Pool has helpers that sleep between loops, of which `mutex_` lets one run at a time.
class Pool {
 public:
  // The pool is never destroyed: helpers run until the process ends.
  static Pool& Get() {
    static Pool* const pool = new Pool();
    return *pool;
  }

  void Run(int64_t tasks, int64_t threads, const std::function<void(int64_t)>& body) {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      for (int64_t task = 0; task < tasks; ++task) body(task);
      return;
    }
    for (; helpers_ < threads - 1; ++helpers_) std::thread([this] { Help(); }).detach();
    body_ = &body;
    tasks_ = tasks;
    seats_ = threads - 1;
    next_.store(0, std::memory_order_relaxed);
    state_.store(kOpen, std::memory_order_release);
    loop_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) loop_.notify_all();
    Work();
    // No helper may enter any more; those inside finish the task they took.
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spins = 0; state_.load(std::memory_order_acquire) != 0; ++spins) {
      // A helper put aside in the middle of a task needs this core more than we do.
      if (spins < 2000) {
        Pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  static constexpr uint64_t kOpen = uint64_t{1} << 63;  // The bits below count the helpers inside.

  void Work() {
    inside = true;
    for (int64_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) {
      (*body_)(task);
    }
    inside = false;
  }

  bool Enter() {
    uint64_t state = state_.load(std::memory_order_acquire);
    while ((state & kOpen) && static_cast<int64_t>(state & ~kOpen) < seats_) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void Help() {
    uint64_t seen = 0;
    while (true) {
      WaitForLoopAfter(seen);
      seen = loop_.load(std::memory_order_acquire);
      if (!Enter()) continue;
      Work();
      state_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void WaitForLoopAfter(uint64_t seen) {
    const auto until = std::chrono::steady_clock::now() + kSpin;
    do {
      for (int i = 0; i < 64; ++i) {
        if (loop_.load(std::memory_order_acquire) != seen) return;
        Pause();
      }
    } while (std::chrono::steady_clock::now() < until);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    loop_.wait(seen, std::memory_order_seq_cst);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

  std::mutex mutex_;
  int64_t helpers_ = 0;  // Guarded by mutex_.
  // The loop in progress is written before `state_` opens, and read by those inside.
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t tasks_ = 0;
  std::atomic<int64_t> seats_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> loop_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace

// omp_get_max_threads is LibTorch's own number of threads, which at::set_num_threads changes.
int64_t ParallelThreads() { return inside ? 1 : omp_get_max_threads(); }

void ParallelFor(int64_t tasks, const std::function<void(int64_t task)>& body) {
  const int64_t threads = tasks < ParallelThreads() ? tasks : ParallelThreads();
  if (threads <= 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  Pool::Get().Run(tasks, threads, body);
}

}  // namespace whetstone
