// How long an empty program takes in a sandbox, from request to result, beside bubblewrap and
// beside no sandbox at all, in the same run.
//
//   sandbox_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//
// Counters p50_ms and p95_ms are over the single starts of one repetition; the mean that Google
// Benchmark prints is dominated by whatever else the machine does. The program is /usr/bin/true,
// dynamically linked: its own exec and loading are the first row.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "sandbox/sandbox.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

template <class F>
void Measure(benchmark::State& state, F&& run_once) {
  std::vector<double> milliseconds;
  for (auto _ : state) {
    const auto start = Clock::now();
    const bool ok = run_once();
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (!ok) {
      state.SkipWithError("the empty program did not exit with 0");
      return;
    }
    state.SetIterationTime(elapsed.count());
    milliseconds.push_back(elapsed.count() * 1e3);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto quantile = [&](double q) {
    return milliseconds[static_cast<size_t>(q * static_cast<double>(milliseconds.size() - 1))];
  };
  state.counters["p50_ms"] = quantile(0.5);
  state.counters["p95_ms"] = quantile(0.95);
}

bool Spawn(const std::vector<const char*>& arguments) {
  std::vector<char*> argv;
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return false;
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void NoSandbox(benchmark::State& state) {
  Measure(state, [] { return Spawn({"/usr/bin/true"}); });
}

// The nearest it offers: the same namespaces and binds; no seccomp, Landlock, limits, or result.
void Bubblewrap(benchmark::State& state) {
  if (access("/usr/bin/bwrap", X_OK) != 0) {
    state.SkipWithError("bubblewrap is not installed");
    return;
  }
  Measure(state, [] {
    return Spawn({"/usr/bin/bwrap", "--unshare-all", "--die-with-parent",
                  "--new-session",  "--ro-bind",     "/usr",
                  "/usr",           "--symlink",     "usr/lib",
                  "/lib",           "--symlink",     "usr/lib64",
                  "/lib64",         "--tmpfs",       "/work",
                  "--tmpfs",        "/tmp",          "--chdir",
                  "/work",          "/usr/bin/true"});
  });
}

void Run(benchmark::State& state, Profile profile) {
  SandboxSpec spec;
  spec.profile = profile;
  spec.argv = {"/opt/true"};
  spec.binds = {{"/usr/bin/true", "/opt/true"}};
  Measure(state, [&spec] {
    const absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
    return result.ok() && result->exit == SandboxExit::kExited && result->exit_code == 0;
  });
}

void WhetstoneRun(benchmark::State& state) { Run(state, Profile::kRun); }
void WhetstoneCompile(benchmark::State& state) { Run(state, Profile::kCompile); }

BENCHMARK(NoSandbox)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(Bubblewrap)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(WhetstoneRun)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(WhetstoneCompile)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);

}  // namespace
}  // namespace whetstone

BENCHMARK_MAIN();
