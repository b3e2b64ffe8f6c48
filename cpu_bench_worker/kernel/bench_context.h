// Where and under which problem a candidate runs: what the check and time stages share.
#ifndef WHETSTONE_CPU_BENCH_WORKER_KERNEL_BENCH_CONTEXT_H_
#define WHETSTONE_CPU_BENCH_WORKER_KERNEL_BENCH_CONTEXT_H_

#include <atomic>
#include <string>
#include <vector>

#include "cpu_bench_worker/host/slot_cores.h"
#include "cpu_bench_worker/problem/arguments.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// A problem whose programs are compiled. Immutable once made; borrowed by everything below.
struct BenchProblem {
  v1::Problem problem;
  std::string hash;
  Arguments arguments;
  std::vector<CallShape> check;
  std::vector<CallShape> timed;
  std::vector<CallShape> hidden;
  // Shared objects on the host; empty where the problem has no such program.
  std::string reference_object;
  std::string oracle_object;
  std::string generator_object;
  std::string checker_object;

  // Whether the problem allows its programs several threads.
  bool threaded() const { return problem.compile().threads() > 1; }
};

struct BenchContext {
  std::string kernel_binary;
  SlotCores cores;
  const BenchProblem* problem = nullptr;
  const std::atomic<bool>* cancelled = nullptr;  // may be null
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_KERNEL_BENCH_CONTEXT_H_
