#include "cpu_bench_worker/kernel/kernel_process.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/futex.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/host/raw_clock.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {
namespace {

constexpr uint64_t kInputBase = 0x2000'0000'0000;
constexpr uint64_t kOutputBase = 0x3000'0000'0000;
// The program itself, libstdc++ and its stack take this much address space.
constexpr int64_t kOwnBytes = int64_t{96} << 20;
// The parent spins so long before it checks whether the child is still there.
constexpr uint64_t kSpinNs = 2'000'000;
constexpr uint64_t kCheckEveryNs = 1'000'000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Sleeps at most a millisecond.
void FutexNap(std::atomic<uint32_t>* word, uint32_t value) {
  const timespec nap{.tv_sec = 0, .tv_nsec = static_cast<int64_t>(kCheckEveryNs)};
  FutexWait(word, value, FutexScope::kShared, &nap);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelProcess>> KernelProcess::Start(const KernelSpec& spec) {
  std::unique_ptr<KernelProcess> self(new KernelProcess(spec));
  const size_t mailbox_bytes =
      kCallTableOffset +
      sizeof(uint64_t) * CallBatch::TableWords(spec.words_per_call, spec.calls_max);
  ASSIGN_OR_RETURN(self->mailbox_, SharedRegion::Make("mailbox", mailbox_bytes,
                                                      SharedRegion::Access::kReadWrite, spec.node));
  ASSIGN_OR_RETURN(self->outputs_, SharedRegion::Make("outputs", spec.output_bytes,
                                                      SharedRegion::Access::kReadWrite, spec.node));
  self->input_address_ = kInputBase + spec.address_shift;
  self->output_address_ = kOutputBase + spec.address_shift;
  Mailbox* mailbox = new (self->mailbox_.data()) Mailbox{};
  mailbox->magic = kMailboxMagic;
  mailbox->words_per_call = static_cast<uint32_t>(spec.words_per_call);
  mailbox->calls_max = static_cast<uint32_t>(spec.calls_max);
  mailbox->input_address = self->input_address_;
  mailbox->input_bytes = spec.inputs == nullptr ? 0 : spec.inputs->size();
  mailbox->output_address = self->output_address_;
  mailbox->output_bytes = spec.output_bytes;

  SandboxSpec box;
  box.profile = Profile::kRun;
  box.argv = {"/whetstone/whet-kernel", "/whetstone/kernel.so"};
  box.binds = {{spec.kernel_binary, box.argv[0]}, {spec.object, box.argv[1]}};
  box.fds = {{self->mailbox_.fd(), kMailboxFd}};
  if (mailbox->input_bytes > 0) box.fds.push_back({spec.inputs->fd(), kInputFd});
  if (spec.output_bytes > 0) box.fds.push_back({self->outputs_.fd(), kOutputFd});
  box.cores = spec.cores;
  box.limits.wall = spec.life;
  box.limits.cpu = spec.life;
  box.limits.memory_bytes_max = kOwnBytes + spec.memory_bytes +
                                static_cast<int64_t>(mailbox->input_bytes + spec.output_bytes);
  box.limits.processes_max = spec.threads > 1 ? 4 * spec.threads : 1;
  absl::StatusOr<std::unique_ptr<SandboxProcess>> process = Sandbox::Start(box);
  RETURN_IF_ERROR(OurStatus(process.status()));
  self->process_ = *std::move(process);
  absl::StatusOr<SchedulerStateMonitor> monitor =
      SchedulerStateMonitor::Open(self->process_->pid());
  if (monitor.ok()) {
    self->monitor_ = std::make_unique<SchedulerStateMonitor>(*std::move(monitor));
  } else if (access("/proc/self/schedstat", R_OK) != 0) {
    return monitor.status();
  }  // Otherwise it has ended already, by its own doing: AwaitReady says so.
  return self;
}

WaitResult KernelProcess::AwaitReady(std::chrono::nanoseconds deadline) {
  uint64_t at = 0;
  requested_at_ns_ = RawNowNs();
  const WaitResult result = Await(&mailbox()->ready, 1, deadline, /*spin=*/false, &at);
  return result == WaitResult::kResponded && monitor_ == nullptr ? WaitResult::kEnded : result;
}

void KernelProcess::SetRealtimePriority() {
  const sched_param lowest{.sched_priority = 1};
  sched_setscheduler(process_->pid(), SCHED_RR, &lowest);
}

void KernelProcess::Load(const CallBatch& batch, size_t input_offset, size_t output_offset) {
  batch.WriteTable(input_address_ + input_offset, output_address_ + output_offset,
                   reinterpret_cast<uint64_t*>(mailbox_.data() + kCallTableOffset));
  if (!batch.outputs().empty()) {
    std::memcpy(outputs_.data() + output_offset, batch.outputs().data(), batch.outputs().size());
  }
}

void KernelProcess::PostRequest(int calls) {
  Mailbox* const m = mailbox();
  m->calls = static_cast<uint32_t>(calls);
  m->wake = spec_.spin ? 0 : 1;
  ++request_;
  requested_at_ns_ = RawNowNs();
  m->request.store(request_, std::memory_order_release);
}

void KernelProcess::Wake() { FutexWake(&mailbox()->request, FutexScope::kShared); }

WaitResult KernelProcess::AwaitResponse(std::chrono::nanoseconds deadline, double* elapsed_ns) {
  uint64_t responded_at = 0;
  const WaitResult result =
      Await(&mailbox()->response, request_, deadline, spec_.spin, &responded_at);
  *elapsed_ns = static_cast<double>(responded_at - requested_at_ns_);
  return result;
}

WaitResult KernelProcess::Await(std::atomic<uint32_t>* word, uint32_t value,
                                std::chrono::nanoseconds deadline, bool spin,
                                uint64_t* responded_at_ns) {
  const uint64_t end = requested_at_ns_ + static_cast<uint64_t>(deadline.count());
  uint64_t check_at = requested_at_ns_ + (spin ? kSpinNs : kCheckEveryNs);
  for (;;) {
    const uint32_t now_value = word->load(std::memory_order_acquire);
    *responded_at_ns = RawNowNs();
    if (now_value == value) return WaitResult::kResponded;
    if (*responded_at_ns >= check_at) {
      if (!process_->Running()) return WaitResult::kEnded;
      if (*responded_at_ns >= end) return WaitResult::kDeadline;
      check_at = *responded_at_ns + kCheckEveryNs;
    }
    if (spin) {
      for (int i = 0; i < 8; ++i) Pause();
    } else {
      FutexNap(word, now_value);
    }
  }
}

double KernelProcess::SinceRequestNs() const {
  return static_cast<double>(RawNowNs() - requested_at_ns_);
}

absl::StatusOr<SandboxResult> KernelProcess::End() {
  process_->Kill();
  return process_->Wait();
}

}  // namespace whetstone
