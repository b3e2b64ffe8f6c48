#include "cpu_bench_worker/host/core_thread.h"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/futex.h"
#include "cpu_bench_worker/host/scoped_realtime.h"

namespace whetstone {

absl::StatusOr<std::unique_ptr<CoreThread>> CoreThread::Start(int core) {
  std::unique_ptr<CoreThread> self(new CoreThread());
  self->thread_ = std::thread([thread = self.get()] { thread->Loop(); });
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  const int error = pthread_setaffinity_np(self->thread_.native_handle(), sizeof set, &set);
  if (error == 0) return self;
  return absl::FailedPreconditionError(
      absl::StrCat("cannot run on core ", core, ": ", strerror(error)));
}

CoreThread::~CoreThread() {
  Begin(nullptr);
  thread_.join();
}

void CoreThread::Begin(std::function<void()> job) {
  Await();
  job_ = std::move(job);
  begun_.fetch_add(1, std::memory_order_release);
  FutexWake(&begun_, FutexScope::kPrivate);
}

void CoreThread::Await() const {
  while (!Through()) sched_yield();
}

void CoreThread::Loop() {
  const ScopedRealtime realtime;  // Otherwise a busy neighbour keeps the other thread waiting.
  for (uint32_t seen = 0;; through_.store(seen, std::memory_order_release)) {
    while (begun_.load(std::memory_order_acquire) == seen)
      FutexWait(&begun_, seen, FutexScope::kPrivate);
    ++seen;
    if (job_ == nullptr) return;
    job_();
  }
}

}  // namespace whetstone
