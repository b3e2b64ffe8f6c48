// The problem author's own programs: the oracle (the right answer), the generator (inputs that no
// fill can express) and the checker (several right answers). Trusted code, but it reads what a
// hostile candidate wrote, so it runs in a sandboxed child like any kernel.
//
// No error is the candidate's. INVALID_ARGUMENT: the program crashed, hung or could not be loaded;
// UNAVAILABLE and others: this host could not run it.
// One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_KERNEL_OPERATOR_PROGRAM_H_
#define WHETSTONE_CPU_BENCH_WORKER_KERNEL_OPERATOR_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cpu_bench_worker/kernel/bench_context.h"
#include "cpu_bench_worker/kernel/kernel_process.h"
#include "cpu_bench_worker/problem/call_batch.h"

namespace whetstone {

class OperatorProgram {
 public:
  // `name` is "oracle", "generator" or "checker", for messages.
  static absl::StatusOr<std::unique_ptr<OperatorProgram>> Start(const BenchContext& context,
                                                                const std::string& name);

  // The oracle returns the outputs region after computing `batch`.
  absl::StatusOr<std::string> Compute(const CallBatch& batch);
  // The generator fills every input of `batch`, one call after another, seeded by `key`. The top
  // bit of the seeds it gets is the style: set for inputs that are legal and unlikely.
  absl::Status Generate(uint64_t key, FillStyle style, CallBatch* batch);
  // The checker says for each call whether `got` (an outputs region after it) is right.
  absl::StatusOr<std::vector<bool>> Check(const CallBatch& batch, const std::string& got);

 private:
  OperatorProgram(const BenchContext& context, std::string name)
      : context_(context), name_(std::move(name)) {}
  // Makes sure the child's regions hold `batch`, then runs all its calls.
  absl::Status Run(const CallBatch& batch);

  BenchContext context_;
  std::string name_;
  std::string object_;
  size_t input_bytes_ = 0;
  size_t output_bytes_ = 0;
  int calls_max_ = 0;
  SharedRegion inputs_;
  std::unique_ptr<KernelProcess> process_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_KERNEL_OPERATOR_PROGRAM_H_
