// Measures, in one run, what isolation costs:
//
//   sandbox_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//
// * how long an empty program takes in a sandbox, from request to result, and how long cleaning up
//   then takes, beside bubblewrap, isolate and no sandbox at all. Counters p50_ms and p99_ms are
//   over the single starts of one repetition; the mean that Google Benchmark prints is dominated by
//   whatever else the machine does. The program is /usr/bin/true, dynamically linked: its own exec
//   and loading are the first row.
// * whether a program runs slower inside than outside (speed_kernel.cc): pairs of processes on one
//   core, `inside_over_outside` is the median ratio of their fastest rounds.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/sandbox.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

// Times `run_once`, and what comes `after` it by itself.
template <class F, class G>
void Measure(benchmark::State& state, F&& run_once, G&& after) {
  std::vector<double> milliseconds, after_milliseconds;
  for (auto _ : state) {
    const auto start = Clock::now();
    const bool ok = run_once();
    const auto end = Clock::now();
    after();
    const std::chrono::duration<double> elapsed = end - start, rest = Clock::now() - end;
    if (!ok) {
      state.SkipWithError("the empty program did not exit with 0");
      return;
    }
    state.SetIterationTime(elapsed.count());
    milliseconds.push_back(elapsed.count() * 1e3);
    after_milliseconds.push_back(rest.count() * 1e3);
  }
  state.counters["p50_ms"] = Quantile(milliseconds, 0.5);
  state.counters["p99_ms"] = Quantile(milliseconds, 0.99);
  state.counters["clean_up_p50_ms"] = Quantile(after_milliseconds, 0.5);
  state.counters["clean_up_p99_ms"] = Quantile(after_milliseconds, 0.99);
}

template <class F>
void Measure(benchmark::State& state, F&& run_once) {
  Measure(state, run_once, [] {});
}

bool Spawn(const std::vector<const char*>& arguments, bool quiet = false) {
  std::vector<char*> argv;
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
  argv.push_back(nullptr);
  pid_t pid = -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void NoSandbox(benchmark::State& state) {
  Measure(state, [] { return Spawn({"/usr/bin/true"}); });
}

// Asks bubblewrap for the nearest that it offers: it has the same namespaces and binds, but no
// seccomp, Landlock, limits, or result.
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

// Runs isolate, a judge's sandbox, whose box is made and removed by calls of their own.
void Isolate(benchmark::State& state) {
  const char* const isolate = std::getenv("WHETSTONE_ISOLATE");
  if (isolate == nullptr || *isolate == 0) {
    state.SkipWithError("WHETSTONE_ISOLATE names no isolate");
    return;
  }
  const auto call = [isolate](const std::vector<const char*>& arguments) {
    std::vector<const char*> all = {isolate, "--silent"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Spawn(all, /*quiet=*/true);
  };
  bool ok = call({"--init"});
  Measure(
      state,
      [&] {
        return ok && call({"--run", "--", "/usr/bin/true"});
      },
      [&] { ok = call({"--cleanup"}) && call({"--init"}); });
  call({"--cleanup"});
}

void Run(benchmark::State& state, Profile profile) {
  SandboxSpec spec;
  spec.profile = profile;
  spec.argv = {"/opt/true"};
  spec.binds = {{"/usr/bin/true", "/opt/true"}};
  std::unique_ptr<SandboxProcess> process;
  Measure(
      state,
      [&] {
        absl::StatusOr<std::unique_ptr<SandboxProcess>> started = Sandbox::Start(spec);
        if (!started.ok()) return false;
        process = *std::move(started);
        const absl::StatusOr<SandboxResult> result = process->Wait();
        return result.ok() && result->exit == SandboxExit::kExited && result->exit_code == 0;
      },
      [&] { process.reset(); });
}

void WhetstoneRun(benchmark::State& state) { Run(state, Profile::kRun); }
void WhetstoneCompile(benchmark::State& state) { Run(state, Profile::kCompile); }

constexpr char kKernel[] = "/speed_kernel";

std::string KernelPath() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + kKernel;
}

// Returns the nanoseconds it printed, or 0 if it failed.
double OutsideNs(const std::string& kind) {
  const std::string path = KernelPath();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char* const argv[] = {const_cast<char*>(path.c_str()), const_cast<char*>(kind.c_str()), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, path.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char text[64] = {};
  if (error == 0) {
    if (read(ends[0], text, sizeof text - 1) < 0) text[0] = 0;
    waitpid(pid, nullptr, 0);
  }
  close(ends[0]);
  return std::atof(text);
}

double InsideNs(const std::string& kind) {
  SandboxSpec spec;
  spec.profile = Profile::kRun;
  spec.argv = {"/opt/speed_kernel", kind};
  spec.binds = {{KernelPath(), "/opt/speed_kernel"}};
  const absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
  return result.ok() ? std::atof(result->stdout_text.c_str()) : 0;
}

void Inside(benchmark::State& state, const std::string& kind) {
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);  // Both inherit it.
  sched_setaffinity(0, sizeof one, &one);
  std::vector<double> ratios;
  bool inside_first = false;
  for (auto _ : state) {
    inside_first = !inside_first;
    const double first = inside_first ? InsideNs(kind) : OutsideNs(kind);
    const double second = inside_first ? OutsideNs(kind) : InsideNs(kind);
    if (first <= 0 || second <= 0) {
      state.SkipWithError("speed_kernel did not run");
      break;
    }
    ratios.push_back(inside_first ? first / second : second / first);
    state.SetIterationTime(1e-9 * (first + second));
  }
  sched_setaffinity(0, sizeof before, &before);
  if (ratios.empty()) return;
  state.counters["inside_over_outside"] = Quantile(ratios, 0.5);
}

BENCHMARK_CAPTURE(Inside, compute, "compute")->UseManualTime()->Iterations(21);
BENCHMARK_CAPTURE(Inside, memory, "memory")->UseManualTime()->Iterations(21);
BENCHMARK_CAPTURE(Inside, calls, "calls")->UseManualTime()->Iterations(21);
BENCHMARK(NoSandbox)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(Isolate)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(Bubblewrap)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(WhetstoneRun)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(WhetstoneCompile)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(200);

}  // namespace
}  // namespace whetstone

BENCHMARK_MAIN();
