// One whet-screener process in its sandbox. Not thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREENER_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREENER_H_

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "cpu_bench_worker/screen/screen_client.h"
#include "sandbox/sandbox.h"

namespace whetstone {

class Screener {
 public:
  // Runs `program` on `cores`.
  Screener(std::string program, std::vector<int> cores)
      : program_(std::move(program)), cores_(std::move(cores)) {}
  ~Screener() { Stop(); }

  // Starts the process, afresh if it runs. It has no headers then.
  absl::Status Start();

  // Precompiles the headers of `config` and returns its function's type. INVALID_ARGUMENT: clang
  // refuses headers, flags or signature. UNAVAILABLE, INTERNAL: the process ended, is late or talks
  // nonsense, as of Screen; it has to be started afresh.
  absl::StatusOr<std::string> Prepare(const ScreenConfig& config);
  // Reads a candidate; the headers are precompiled before if they are not there.
  absl::StatusOr<ScreenReport> Screen(const ScreenConfig& config, const std::string& source);

 private:
  absl::StatusOr<std::string> Ask(const std::string& request, std::chrono::milliseconds deadline);
  void Stop();

  const std::string program_;
  const std::vector<int> cores_;
  UniqueFd fd_;
  std::unique_ptr<SandboxProcess> process_;
  std::set<std::string> header_dirs_;  // Those the process has.
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREENER_H_
