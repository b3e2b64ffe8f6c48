// One sandboxed child that computes when a request comes (kernel_main.cc inside, mailbox.h
// between). This is the parent's side: start it, post requests, time them, see whether it sleeps.
//
// One thread at a time, but Wake may still run when another one awaits the response. Nothing here
// trusts the child: the response's time is a claim until the caller has seen the child asleep
// (monitor()).
#ifndef WHETSTONE_CPU_BENCH_WORKER_KERNEL_KERNEL_PROCESS_H_
#define WHETSTONE_CPU_BENCH_WORKER_KERNEL_KERNEL_PROCESS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/kernel/scheduler_state_monitor.h"
#include "cpu_bench_worker/problem/call_batch.h"
#include "cpu_bench_worker/shared_memory/mailbox.h"
#include "cpu_bench_worker/shared_memory/shared_region.h"
#include "sandbox/sandbox.h"

namespace whetstone {

struct KernelSpec {
  std::string kernel_binary;  // whet-kernel on the host
  std::string object;         // shared object on the host
  size_t words_per_call = 0;
  int calls_max = 1;
  const SharedRegion* inputs = nullptr;  // borrowed; outlives the process
  size_t output_bytes = 0;
  uint64_t address_shift = 0;  // moves both mappings; a multiple of the page size
  std::vector<int> cores;
  int node = -1;  // NUMA node of the regions; -1: any
  int threads = 1;
  int64_t memory_bytes = 0;  // beyond the mapped regions
  std::chrono::milliseconds life{60'000};
  bool spin = true;  // false where parent and child share their only core
};

// A program must have started and be loaded within this time.
inline constexpr std::chrono::seconds kLoadDeadline{10};

enum class WaitResult { kResponded, kEnded, kDeadline };

class KernelProcess {
 public:
  // Errors are ours: no memory, no sandbox.
  static absl::StatusOr<std::unique_ptr<KernelProcess>> Start(const KernelSpec& spec);

  // Blocks until the object is loaded, the process has ended, or the deadline.
  WaitResult AwaitReady(std::chrono::nanoseconds deadline);

  // Gives a loaded child real-time priority, so that nothing else runs on its core while it is
  // timed. Only root may; without the right it changes nothing.
  void SetRealtimePriority();

  // Writes the call table, for inputs and outputs that begin at these offsets of their regions, and
  // the batch's output image into the output region.
  void Load(const CallBatch& batch, size_t input_offset, size_t output_offset);
  // Post the request for the first `calls` rows, and wake the child. Two steps, so that whoever
  // spins for the request on another core knows of it before the child can have this one.
  void PostRequest(int calls);
  void Wake();
  // Waits for the response to PostRequest; *elapsed_ns is from there to the response.
  WaitResult AwaitResponse(std::chrono::nanoseconds deadline, double* elapsed_ns);

  // Nanoseconds since the last request.
  double SinceRequestNs() const;
  const SchedulerStateMonitor& monitor() const { return *monitor_; }
  const char* outputs() const { return outputs_.data(); }
  int threads() const { return spec_.threads; }

  // Kills it if it still runs; how it ended otherwise. Call at most once, last.
  absl::StatusOr<SandboxResult> End();

 private:
  explicit KernelProcess(const KernelSpec& spec) : spec_(spec) {}
  WaitResult Await(std::atomic<uint32_t>* word, uint32_t value, std::chrono::nanoseconds deadline,
                   bool spin, uint64_t* responded_at_ns);
  Mailbox* mailbox() const { return reinterpret_cast<Mailbox*>(mailbox_.data()); }

  KernelSpec spec_;
  SharedRegion mailbox_;
  SharedRegion outputs_;
  uint64_t input_address_ = 0;
  uint64_t output_address_ = 0;
  uint32_t request_ = 0;
  uint64_t requested_at_ns_ = 0;
  std::unique_ptr<SchedulerStateMonitor> monitor_;
  std::unique_ptr<SandboxProcess> process_;  // last: dies before the memory it uses goes
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_KERNEL_KERNEL_PROCESS_H_
