#include "tests/abuse/abuse_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/problem/test_problems.h"
#include "cpu_bench_worker/verdict/printable.h"
#include "sandbox/sandbox_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int ChildCount() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int pid; children >> pid;) ++count;
  }
  return count;
}

int64_t Entries(const char* folder) {
  std::error_code gone;
  return std::distance(std::filesystem::directory_iterator(folder, gone), {});
}

}  // namespace

v1::Problem AbuseProblem() {
  v1::Problem problem = MatmulProblem();
  problem.mutable_limits()->set_compile_s(2.5);
  problem.mutable_limits()->set_run_s(0.3);
  problem.mutable_sizes()->mutable_timed()->DeleteSubrange(1, 1);
  return problem;
}

std::vector<HostileProgram> HostilePrograms() {
  absl::StatusOr<std::vector<HostileProgram>> programs =
      LoadHostilePrograms(SourceDir() + "/tests/abuse");
  if (!programs.ok()) {
    std::fprintf(stderr, "%s\n", programs.status().ToString().c_str());
    std::abort();
  }
  return *std::move(programs);
}

Workers& Workers::Get() {
  static auto* workers = new Workers;
  return *workers;
}

Measurer* Workers::Of(bool screened) {
  std::unique_ptr<Measurer>& slot = measurers_[screened ? 1 : 0];
  if (slot != nullptr) return slot.get();
  MeasurerOptions options;
  options.slots = 1;
  options.screen = screened;
  absl::StatusOr<std::unique_ptr<Measurer>> measurer = Measurer::Create(options);
  EXPECT_TRUE(measurer.ok()) << measurer.status();
  if (!measurer.ok()) return nullptr;
  const absl::StatusOr<v1::Calibration> calibration =
      (*measurer)->PutProblem(AbuseProblem(), calibration_.has_expert() ? &calibration_ : nullptr);
  EXPECT_TRUE(calibration.ok()) << calibration.status();
  if (!calibration.ok()) return nullptr;
  calibration_ = *calibration;
  slot = *std::move(measurer);
  return slot.get();
}

v1::Verdict Workers::Measure(Measurer* measurer, const std::string& source, std::string id,
                             bool fresh) {
  if (id.empty()) id = absl::StrCat("abuse/", ++candidates_);
  v1::MeasureRequest request;
  request.set_problem_hash(ProblemHash(AbuseProblem()));
  request.set_candidate_id(id);
  request.set_source(source);
  request.set_time(true);
  request.set_fresh(fresh);
  request.set_seed(17);
  absl::StatusOr<v1::Verdict> verdict = measurer->Measure(request);
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  return verdict.value_or(v1::Verdict());
}

void ExpectHonestIsMeasured(Measurer* measurer) {
  const v1::Verdict same = Workers::Get().Measure(measurer, kMatmulIjk);
  EXPECT_EQ(v1::Outcome_Name(same.outcome()), "CORRECT") << same.detail();
  // A busy machine widens the interval rather than moves it.
  EXPECT_TRUE(std::abs(std::log(same.speedup())) < 0.15 ||
              (same.speedup_low() <= 1 && same.speedup_high() >= 1))
      << "identical code scored " << same.speedup() << " [" << same.speedup_low() << ", "
      << same.speedup_high() << "]";
}

v1::Verdict ExpectGetsNothing(const HostileProgram& program, bool screened) {
  Measurer* measurer = Workers::Get().Of(screened);
  const v1::Verdict verdict = Workers::Get().Measure(measurer, program.source);
  const std::set<v1::Outcome>& allowed = screened ? program.screened : program.expect;
  EXPECT_EQ(allowed.count(verdict.outcome()), 1u)
      << program.what << ": " << v1::Outcome_Name(verdict.outcome()) << ", " << verdict.detail();
  // A gain is one that the interval confirms, and again in a second measurement: on a busy machine
  // one of some hundred strays, and of what a program can do at will it can do twice.
  const auto gains = [&](const v1::Verdict& v) {
    if (v.outcome() != v1::CORRECT || v.speedup() <= program.speedup_max || v.speedup_low() <= 1)
      return false;
    if (program.control.empty()) return true;
    const v1::Verdict honest = Workers::Get().Measure(measurer, program.control);
    return v.speedup_low() > program.speedup_max * std::max(1.0, honest.speedup_high());
  };
  if (gains(verdict)) {
    const v1::Verdict again = Workers::Get().Measure(measurer, program.source);
    EXPECT_FALSE(gains(again)) << program.what << ": gained " << verdict.speedup() << " ["
                               << verdict.speedup_low() << ", " << verdict.speedup_high()
                               << "] and " << again.speedup() << " [" << again.speedup_low() << ", "
                               << again.speedup_high() << "]";
  }
  // What a program had a hand in may neither steer a terminal nor fail to be sent.
  EXPECT_EQ(verdict.detail(), Printable(verdict.detail()));
  // A secret must not come back through diagnostics either.
  EXPECT_THAT(verdict.detail(), Not(HasSubstr("root:")));
  return verdict;
}

std::string HostState() {
  std::string state = absl::StrCat(
      "mounts ", HostMounts(), "\nshadow ", ReadFile("/etc/shadow").value_or("unreadable"),
      "\nleft behind ", std::filesystem::exists(kLeftBehind), "\nchildren ", ChildCount(),
      "\ndescriptors ", Entries("/proc/self/fd"), "\nshared memory ",
      std::filesystem::exists("/dev/shm/whetstone-abuse-left"));
  for (const char* kind : {"shm", "sem", "msg"}) {
    absl::StrAppend(&state, "\n", kind, " ",
                    ReadFile(absl::StrCat("/proc/sysvipc/", kind)).value_or("?"));
  }
  return state;
}

}  // namespace whetstone
