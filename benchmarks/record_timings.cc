// Records what the ruler sees of programs whose true speedup is known, for the test that replays
// the stopping rule (cpu_bench_worker/timing/timing_replay_test.cc):
//
//   record_timings --pairs 700 DIR      writes DIR/{equal,faster}_{compute,memory}.timings
//
// Reference and candidate have the same machine code and differ in one number in memory, which says
// how often they repeat their work: 100 and 100 times in `equal`, 100 and 98 times in `faster`,
// which makes the candidate 100/98 = 1.0204 times as fast. `compute` is a product of small
// matrices, `memory` a transposition whose time depends on where its arrays lie. Both have two
// timed sizes, of about 0.1 and 0.3 ms. docs/formats/timings.md describes the files.
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/compiler.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/problem/small_kernel.h"
#include "cpu_bench_worker/timing/check_stage.h"
#include "cpu_bench_worker/timing/recorded_timings.h"
#include "cpu_bench_worker/timing/time_stage.h"

namespace whetstone {
namespace {

constexpr int kRepeats = 100;
constexpr int kFewerRepeats = 98;

struct Work {
  const char* name;
  const char* source;
  int small;
  int large;
};

constexpr Work kWorks[] = {{"compute", R"cpp(
                              static volatile int repeats = REPEATS;
                              void work(const float* a, const float* b, float* c, int n) {
                                for (int r = repeats; r > 0; --r)
                                  for (int i = 0; i < n; ++i) {
                                    float* row = c + i * n;
                                    for (int j = 0; j < n; ++j) row[j] = 0;
                                    for (int k = 0; k < n; ++k) {
                                      const float x = a[i * n + k];
                                      for (int j = 0; j < n; ++j) row[j] += x * b[k * n + j];
                                    }
                                  }
                              }
                            )cpp",
                            18, 26},
                           {"memory", R"cpp(
                              static volatile int repeats = REPEATS;
                              void work(const float* a, const float* b, float* c, int n) {
                                for (int r = repeats; r > 0; --r)
                                  for (int i = 0; i < n; ++i)
                                    for (int j = 0; j < n; ++j) c[j * n + i] = a[i * n + j] + b[j * n + i];
                              }
                            )cpp",
                            40, 64}};

v1::Problem ProblemOf(const Work& work) {
  v1::Problem problem;
  problem.set_id(work.name);
  problem.set_signature("void work(const float* a, const float* b, float* c, int n)");
  AddMatrices(&problem);
  problem.mutable_compile()->set_std("c++20");
  for (const char* flag : {"-O3", "-march=native"}) problem.mutable_compile()->add_flags(flag);
  problem.mutable_compile()->set_threads(1);
  problem.mutable_limits()->set_run_s(1);
  problem.mutable_limits()->set_memory_mb(256);
  problem.mutable_limits()->set_total_s(30);
  problem.mutable_compare()->set_rule(v1::Compare::EXACT);
  return problem;
}

class Recorder {
 public:
  static absl::StatusOr<std::unique_ptr<Recorder>> Create() {
    ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("record-timings"));
    auto self = std::unique_ptr<Recorder>(new Recorder(std::move(dir)));
    ASSIGN_OR_RETURN(self->compiler_, Compiler::Create(self->dir_.path(), {}));
    return self;
  }

  // Records `pairs` process pairs of `work` against itself with `repeats`.
  absl::StatusOr<RecordedTimings> Record(const Work& work, int repeats, int pairs) {
    BenchProblem problem;
    problem.problem = ProblemOf(work);
    ASSIGN_OR_RETURN(problem.arguments, Arguments::Parse(problem.problem));
    for (const int n : {work.small, work.large}) {
      v1::SizePoint point;
      (*point.mutable_values())["n"] = n;
      ASSIGN_OR_RETURN(CallShape shape, problem.arguments.At(point));
      problem.timed.push_back(std::move(shape));
    }
    ASSIGN_OR_RETURN(problem.reference_object, Build(problem, work, kRepeats));
    ASSIGN_OR_RETURN(const std::string candidate, Build(problem, work, repeats));
    BenchContext context;
    context.kernel_binary =
        std::filesystem::read_symlink("/proc/self/exe").replace_filename("whet-kernel");
    context.cores = {.timer = 0, .kernel = {1}, .apart = true};
    context.problem = &problem;

    RecordedTimings timings;
    timings.truth = static_cast<double>(kRepeats) / repeats;
    timings.sizes.resize(problem.timed.size());
    for (uint64_t seed = 1; static_cast<int>(timings.sizes[0].size()) < pairs; ++seed) {
      Session session(context, candidate, seed);
      CheckReport check;
      if (const auto failure = CheckCandidate(&session, &check))
        return absl::InternalError(failure->detail);
      TimeReport report;
      const TimeOptions all{.criterion = StoppingCriterion::kAllPairs,
                            .smt_detector = &smt_detector_};
      if (const auto failure = TimeCandidate(&session, problem.timed, check.timed, all, &report))
        return absl::InternalError(failure->detail);
      if (!report.first_bad.empty()) return absl::InternalError(report.first_bad);
      if (report.sizes[0].samples_counted_shared > 0) {
        std::cerr << work.name << ": a neighbour on the same physical core does not leave; again\n";
        continue;
      }
      if (seed == 1)
        for (const TimedSize& size : report.sizes)
          std::cerr << work.name << ": " << size.reference_ns / 1e3 << " us a call\n";
      for (size_t s = 0; s < report.ratios.size(); ++s)
        for (auto& samples : report.ratios[s]) timings.sizes[s].push_back(std::move(samples));
    }
    return timings;
  }

 private:
  explicit Recorder(TempDir dir) : dir_(std::move(dir)) {}

  absl::StatusOr<std::string> Build(const BenchProblem& problem, const Work& work, int repeats) {
    ASSIGN_OR_RETURN(const CompileConfig config, compiler_->Prepare(problem.problem.compile(), 60));
    ASSIGN_OR_RETURN(const std::string shim_source,
                     ShimSource(problem.problem.signature(), problem.arguments, CallRole::kKernel));
    ASSIGN_OR_RETURN(const std::string shim, compiler_->CompileShim(config, shim_source));
    const std::string source =
        absl::StrReplaceAll(work.source, {{"REPEATS", absl::StrCat(repeats)}});
    const CompileResult result = compiler_->Compile(config, shim, source, "work");
    RETURN_IF_ERROR(result.status);
    if (!result.compiled) return absl::InternalError(result.diagnostics);
    const std::string path = absl::StrCat(dir_.path(), "/", work.name, repeats, ".so");
    RETURN_IF_ERROR(WriteFileAtomically(path, result.object));
    return path;
  }

  TempDir dir_;
  std::unique_ptr<Compiler> compiler_;
  SmtContentionDetector smt_detector_;
};

absl::Status RecordAll(const std::string& dir, int pairs) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return absl::FailedPreconditionError("cores 0 and 1 are needed");
  ASSIGN_OR_RETURN(const auto recorder, Recorder::Create());
  for (const Work& work : kWorks)
    for (const auto& [kind, repeats] : {std::pair("equal", kRepeats), {"faster", kFewerRepeats}}) {
      ASSIGN_OR_RETURN(const RecordedTimings timings, recorder->Record(work, repeats, pairs));
      const std::string path = absl::StrCat(dir, "/", kind, "_", work.name, ".timings");
      RETURN_IF_ERROR(WriteFileAtomically(path, EncodeTimings(timings)));
      std::cerr << path << "\n";
    }
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  CLI::App app("Records timings of programs whose true speedup is known.");
  std::string dir;
  int pairs = 700;
  app.add_option("DIR", dir, "Folder for the four files")->required();
  app.add_option("--pairs", pairs, "Process pairs in each file");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::RecordAll(dir, pairs);
  if (!status.ok()) std::cerr << "record_timings: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
