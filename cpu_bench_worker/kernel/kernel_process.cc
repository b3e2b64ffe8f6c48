#include "cpu_bench_worker/kernel/kernel_process.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr uint64_t kInputBase = 0x2000'0000'0000;
constexpr uint64_t kOutputBase = 0x3000'0000'0000;
// Address space that the program itself, libstdc++ and its stack take.
constexpr int64_t kOwnBytes = int64_t{96} << 20;
// How long to spin before looking whether the child is still there.
constexpr uint64_t kSpinNs = 2'000'000;
constexpr uint64_t kLookEveryNs = 1'000'000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// At most a millisecond.
void FutexNap(std::atomic<uint32_t>* word, uint32_t value) {
  const timespec nap{.tv_sec = 0, .tv_nsec = static_cast<int64_t>(kLookEveryNs)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &nap, nullptr, 0);
}

}  // namespace

uint64_t RawNowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

absl::StatusOr<std::unique_ptr<KernelProcess>> KernelProcess::Start(const KernelSpec& spec) {
  std::unique_ptr<KernelProcess> self(new KernelProcess(spec));
  const size_t door_bytes =
      kSlotTableOffset +
      sizeof(uint64_t) * CallBatch::TableWords(spec.slots_per_call, spec.calls_max);
  ASSIGN_OR_RETURN(self->door_, SharedRegion::Make("doorbell", door_bytes,
                                                   SharedRegion::Access::kReadWrite, spec.node));
  ASSIGN_OR_RETURN(self->outputs_, SharedRegion::Make("outputs", spec.output_bytes,
                                                      SharedRegion::Access::kReadWrite, spec.node));
  self->input_address_ = kInputBase + spec.address_shift;
  self->output_address_ = kOutputBase + spec.address_shift;
  Doorbell* door = new (self->door_.data()) Doorbell{};
  door->magic = kDoorbellMagic;
  door->slots_per_call = static_cast<uint32_t>(spec.slots_per_call);
  door->calls_max = static_cast<uint32_t>(spec.calls_max);
  door->input_address = self->input_address_;
  door->input_bytes = spec.inputs == nullptr ? 0 : spec.inputs->size();
  door->output_address = self->output_address_;
  door->output_bytes = spec.output_bytes;

  SandboxSpec box;
  box.profile = Profile::kRun;
  box.argv = {"/whetstone/whet-kernel", "/whetstone/kernel.so"};
  box.binds = {{spec.kernel_binary, box.argv[0]}, {spec.object, box.argv[1]}};
  box.fds = {{self->door_.fd(), kDoorbellFd}};
  if (door->input_bytes > 0) box.fds.push_back({spec.inputs->fd(), kInputFd});
  if (spec.output_bytes > 0) box.fds.push_back({self->outputs_.fd(), kOutputFd});
  box.cores = spec.cores;
  box.limits.wall = spec.life;
  box.limits.cpu = spec.life;
  box.limits.memory_bytes_max =
      kOwnBytes + spec.memory_bytes + static_cast<int64_t>(door->input_bytes + spec.output_bytes);
  box.limits.processes_max = spec.threads > 1 ? 4 * spec.threads : 1;
  ASSIGN_OR_RETURN(self->process_, Sandbox::Start(box));
  absl::StatusOr<SleepWatch> watch = SleepWatch::Open(self->process_->pid());
  if (watch.ok()) {
    self->watch_ = std::make_unique<SleepWatch>(*std::move(watch));
  } else if (access("/proc/self/schedstat", R_OK) != 0) {
    return watch.status();
  }  // else it has ended already, by its own doing: AwaitReady says so
  return self;
}

Answer KernelProcess::AwaitReady(std::chrono::nanoseconds deadline) {
  uint64_t at = 0;
  rung_at_ns_ = RawNowNs();
  const Answer answer = Await(&door()->ready, 1, deadline, /*spin=*/false, &at);
  return answer == Answer::kAnswered && watch_ == nullptr ? Answer::kEnded : answer;
}

void KernelProcess::Hurry() {
  const sched_param lowest{.sched_priority = 1};
  sched_setscheduler(process_->pid(), SCHED_RR, &lowest);
}

void KernelProcess::Load(const CallBatch& batch, size_t input_offset) {
  batch.WriteTable(input_address_ + input_offset, output_address_,
                   reinterpret_cast<uint64_t*>(door_.data() + kSlotTableOffset));
  if (!batch.outputs().empty())
    std::memcpy(outputs_.data(), batch.outputs().data(), batch.outputs().size());
}

void KernelProcess::Ring(int calls) {
  Doorbell* d = door();
  d->calls = static_cast<uint32_t>(calls);
  d->wake = spec_.spin ? 0 : 1;
  ++bell_;
  rung_at_ns_ = RawNowNs();
  d->bell.store(bell_, std::memory_order_release);
}

void KernelProcess::Wake() { FutexWake(&door()->bell); }

Answer KernelProcess::AwaitAnswer(std::chrono::nanoseconds deadline, double* elapsed_ns) {
  uint64_t answered_at = 0;
  const Answer answer = Await(&door()->answer, bell_, deadline, spec_.spin, &answered_at);
  *elapsed_ns = static_cast<double>(answered_at - rung_at_ns_);
  return answer;
}

Answer KernelProcess::Await(std::atomic<uint32_t>* word, uint32_t value,
                            std::chrono::nanoseconds deadline, bool spin,
                            uint64_t* answered_at_ns) {
  const uint64_t end = rung_at_ns_ + static_cast<uint64_t>(deadline.count());
  uint64_t look_at = rung_at_ns_ + (spin ? kSpinNs : kLookEveryNs);
  for (;;) {
    const uint32_t now_value = word->load(std::memory_order_acquire);
    *answered_at_ns = RawNowNs();
    if (now_value == value) return Answer::kAnswered;
    if (*answered_at_ns >= look_at) {
      if (!process_->Running()) return Answer::kEnded;
      if (*answered_at_ns >= end) return Answer::kDeadline;
      look_at = *answered_at_ns + kLookEveryNs;
    }
    if (spin) {
      for (int i = 0; i < 8; ++i) Pause();
    } else {
      FutexNap(word, now_value);
    }
  }
}

double KernelProcess::SinceBellNs() const { return static_cast<double>(RawNowNs() - rung_at_ns_); }

absl::StatusOr<SandboxResult> KernelProcess::End() {
  process_->Kill();
  return process_->Wait();
}

}  // namespace whetstone
