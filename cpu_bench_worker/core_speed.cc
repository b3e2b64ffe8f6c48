#include "cpu_bench_worker/core_speed.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cpu_bench_worker/kernel_process.h"
#include "cpu_bench_worker/statistics.h"
#include "cpu_bench_worker/urgent_thread.h"

namespace whetstone {
namespace {

// Multiplications and additions of 4 cycles together on every x86-64 processor of the last ten
// years: some 3 µs. The shortest of a few, so that an interrupt in one of them does no harm.
constexpr int kSteps = 2'500;
constexpr int kChains = 3;
constexpr double kPatienceNs = 5e6;
// So many differences make a scatter; so many times that is no scatter any more.
constexpr size_t kDifferencesMin = 8;
constexpr double kScatters = 8;

uint64_t Run(uint64_t x) {
  for (int i = 0; i < kSteps; ++i) {
    x = x * 0x9E3779B97F4A7C15u + 1;
    asm volatile("" : "+r"(x));  // each step for real, one after another
  }
  return x;
}

class Thread final : public ClockChain {
 public:
  ~Thread() override {
    ended_ = true;
    Begin();
    thread_.join();
  }

  absl::Status Pin(int core) {
    thread_ = std::thread([this] { Loop(); });
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    const int error = pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set);
    if (error == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("cannot run on core ", core, ": ", strerror(error)));
  }

  void Begin() override {
    asked_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &asked_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  double AwaitNs() override {
    const uint32_t wanted = asked_.load(std::memory_order_relaxed);
    const uint64_t begin = RawNowNs();
    while (answered_.load(std::memory_order_acquire) != wanted)
      if (static_cast<double>(RawNowNs() - begin) > kPatienceNs) return 0;
    return ns_;
  }

 private:
  void Loop() {
    const UrgentThread urgent;  // else a busy neighbour keeps the timer waiting
    uint64_t x = 1;
    for (uint32_t seen = 0; !ended_;) {
      const uint32_t asked = asked_.load(std::memory_order_acquire);
      if (asked == seen) {
        syscall(SYS_futex, &asked_, FUTEX_WAIT_PRIVATE, asked, nullptr, nullptr, 0);
        continue;
      }
      seen = asked;
      double best = 0;
      for (int i = 0; i < kChains; ++i) {
        const uint64_t begin = RawNowNs();
        x = Run(x);
        const auto ns = static_cast<double>(RawNowNs() - begin);
        best = i == 0 ? ns : std::min(best, ns);
      }
      ns_ = best;
      answered_.store(seen, std::memory_order_release);
    }
  }

  std::atomic<uint32_t> asked_{0};
  std::atomic<uint32_t> answered_{0};
  std::atomic<bool> ended_{false};
  double ns_ = 0;  // of the chain that was answered last; written before the answer
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClockChain>> ClockChain::Start(int core) {
  auto thread = std::make_unique<Thread>();
  if (absl::Status status = thread->Pin(core); !status.ok()) return status;
  return thread;
}

double ClockSteps::Threshold() const {
  if (differences_.size() < kDifferencesMin) return 0;
  return std::max(kSpeedChangeMin, kScatters * Median(differences_));
}

bool ClockSteps::Changed(double before_ns, double after_ns) {
  if (before_ns <= 0 || after_ns <= 0) return false;
  const double difference = std::abs(std::log(after_ns / before_ns));
  const double threshold = Threshold();
  differences_.push_back(difference);
  return threshold > 0 && difference > threshold;
}

}  // namespace whetstone
