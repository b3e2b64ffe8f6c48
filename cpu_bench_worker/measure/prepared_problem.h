// Makes a problem ready to be measured: parses it, compiles its programs, resolves its screen.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_PREPARED_PROBLEM_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_PREPARED_PROBLEM_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/build/compiler.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/kernel/bench_context.h"
#include "cpu_bench_worker/screen/screen_client.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

struct PreparedProblem {
  // UNAVAILABLE: what was compiled for it is not where it was.
  absl::Status Check() const {
    absl::Status there = folder->Check();
    there.Update(config.headers->folder->Check());
    return there;
  }

  std::unique_ptr<OwnedFolder> folder;  // of its objects
  BenchProblem bench;
  std::string function;
  CompileConfig config;
  std::string shim_object;  // of the signature's own entry
  ScreenConfig screen;
  v1::Calibration calibration;
};

// Everything but the calibration. Objects are written into a folder of its own below `dir`.
// `screen` may be null (tests). INVALID_ARGUMENT names what is wrong with the problem.
// FAILED_PRECONDITION: this host lacks its compiler. UNAVAILABLE: a fault of this host's.
absl::StatusOr<std::unique_ptr<PreparedProblem>> PrepareProblem(const v1::Problem& problem,
                                                                const std::string& hash,
                                                                Compiler* compiler,
                                                                ScreenClient* screen,
                                                                const std::string& dir);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_PREPARED_PROBLEM_H_
