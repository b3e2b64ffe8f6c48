// A fixture for tests of checking and timing: one problem, compiled without screen and service.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_SESSION_TESTING_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_SESSION_TESTING_H_

#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/build/compiler_testing.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/problem/test_problems.h"
#include "cpu_bench_worker/timing/check_stage.h"
#include "cpu_bench_worker/timing/time_stage.h"

namespace whetstone {

class SessionTest : public CompilingTest {
 protected:
  void Use(const v1::Problem& problem) {
    problem_.problem = problem;
    auto config = compiler_->Prepare(problem.compile(), 20);
    ASSERT_TRUE(config.ok()) << config.status();
    config_ = *config;
    auto arguments = Arguments::Parse(problem);
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    problem_.arguments = *arguments;
    for (const auto& point : problem.sizes().check())
      problem_.check.push_back(*arguments->At(point));
    for (const auto& point : problem.sizes().timed())
      problem_.timed.push_back(*arguments->At(point));
    problem_.reference_object = Build(problem.reference(), CallRole::kKernel);
    if (!problem.generator().empty())
      problem_.generator_object = Build(problem.generator(), CallRole::kGenerator);
    if (!problem.checker().empty())
      problem_.checker_object = Build(problem.checker(), CallRole::kChecker);
    context_.kernel_binary = BinDir() + "/whet-kernel";
    context_.problem = &problem_;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    if (CPU_COUNT(&set) > 1) context_.cores = {0, {1}, true};
  }

  // Path of the compiled object.
  std::string Build(const std::string& source, CallRole role = CallRole::kKernel) {
    auto shim_source = ShimSource(problem_.problem.signature(), problem_.arguments, role);
    EXPECT_TRUE(shim_source.ok()) << shim_source.status();
    auto shim = compiler_->CompileShim(config_, *shim_source);
    EXPECT_TRUE(shim.ok()) << shim.status();
    const CompileResult result = compiler_->Compile(config_, *shim, source, "f");
    EXPECT_TRUE(result.compiled) << result.status << result.diagnostics;
    const std::string path = dir_->path() + "/" + std::to_string(built_++) + ".so";
    EXPECT_TRUE(WriteFileAtomically(path, result.object).ok());
    return path;
  }

  CheckReport Check(const std::string& source, Failure* failure) {
    Session session(context_, Build(source), 1);
    CheckReport report;
    const auto end = CheckCandidate(&session, &report);
    *failure = end.value_or(Failure{});
    return report;
  }

  struct Timed {
    CheckReport check;
    TimeReport time;
  };
  // Checks and times `object`; a failure of either fails the test, and leaves zeros in `time`.
  Timed CheckAndTime(const std::string& object, const TimeOptions& options) {
    Session session(context_, object, 5);
    Timed timed;
    auto failure = CheckCandidate(&session, &timed.check);
    if (!failure.has_value())
      failure = TimeCandidate(&session, problem_.timed, timed.check.timed, options, &timed.time);
    EXPECT_FALSE(failure.has_value()) << failure->detail;
    if (failure.has_value()) {
      timed.time.sizes.assign(problem_.timed.size(), {});
      timed.time.ratios.assign(problem_.timed.size(), PairedRatios(1));
    }
    return timed;
  }

  inline static int built_ = 0;
  CompileConfig config_;
  BenchProblem problem_;
  BenchContext context_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_SESSION_TESTING_H_
