// Hostile candidates through the worker's real path: screen, compile, check, time. Each must get a
// typed verdict and no gain, leave nothing behind, and the next honest candidate must be measured
// as if nothing had been. Every program runs twice: with the screen, and past it, because screening
// is a courtesy and the sandbox and the ruler are the security.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "cpu_bench_worker/measure.h"
#include "cpu_bench_worker/test_problems.h"
#include "tests/abuse/hostile_program.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLeftBehind[] = "/tmp/whetstone-abuse-left";
constexpr int kProgramsBetweenControls = 12;

v1::Problem AbuseProblem() {
  v1::Problem problem = MatmulProblem();
  problem.mutable_limits()->set_compile_s(4);
  problem.mutable_limits()->set_run_s(0.3);
  return problem;
}

int Children() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int pid; children >> pid;) ++count;
  }
  return count;
}

// Mounts of ours on the host: there may never be one. (Others mount things meanwhile.)
std::string OwnMounts() {
  std::string ours;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find("whetstone") != std::string::npos) ours += line + "\n";
  }
  return ours;
}

// What an attack could have changed outside.
std::string HostState() {
  return absl::StrCat("mounts ", OwnMounts(), "\nshadow ",
                      ReadFile("/etc/shadow").value_or("unreadable"), "\nsysv ",
                      ReadFile("/proc/sysvipc/shm").value_or("?"), "\nleft behind ",
                      std::filesystem::exists(kLeftBehind), "\nchildren ", Children());
}

// One measurer that screens and one that does not, made once.
class Workers {
 public:
  static Workers& Get() {
    static auto* workers = new Workers;
    return *workers;
  }
  Measurer* screened() { return screened_.get(); }
  Measurer* unscreened() { return unscreened_.get(); }
  const std::string& error() const { return error_; }

  v1::Verdict Measure(Measurer* measurer, const std::string& source) {
    v1::MeasureRequest request;
    request.set_problem_hash(ProblemHash(AbuseProblem()));
    request.set_candidate_id(absl::StrCat("abuse/", ++candidates_));
    request.set_source(source);
    request.set_time(true);
    request.set_fresh(true);
    request.set_seed(17);
    absl::StatusOr<v1::Verdict> verdict = measurer->Measure(request);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.value_or(v1::Verdict());
  }

 private:
  Workers() {
    std::unique_ptr<Measurer>* slots[] = {&screened_, &unscreened_};
    for (const bool screen : {true, false}) {
      MeasurerOptions options;
      options.slots = 1;
      options.screen = screen;
      absl::StatusOr<std::unique_ptr<Measurer>> measurer = Measurer::Create(options);
      if (!measurer.ok()) {
        error_ = std::string(measurer.status().message());
        return;
      }
      const absl::StatusOr<v1::Calibration> calibration =
          (*measurer)->PutProblem(AbuseProblem(), screen ? nullptr : &calibration_);
      if (!calibration.ok()) {
        error_ = std::string(calibration.status().message());
        return;
      }
      calibration_ = *calibration;
      *slots[screen ? 0 : 1] = std::move(*measurer);
    }
  }

  std::string error_;
  v1::Calibration calibration_;
  std::unique_ptr<Measurer> screened_;
  std::unique_ptr<Measurer> unscreened_;
  int candidates_ = 0;
};

void ExpectHonestIsMeasured(Measurer* measurer) {
  const v1::Verdict same = Workers::Get().Measure(measurer, kMatmulIjk);
  EXPECT_EQ(v1::Outcome_Name(same.outcome()), "CORRECT") << same.detail();
  // A busy machine widens the interval rather than moves it.
  EXPECT_TRUE(std::abs(std::log(same.speedup())) < 0.15 ||
              (same.speedup_low() <= 1 && same.speedup_high() >= 1))
      << "identical code scored " << same.speedup() << " [" << same.speedup_low() << ", "
      << same.speedup_high() << "]";
}

std::vector<HostileProgram> Programs() {
  absl::StatusOr<std::vector<HostileProgram>> programs =
      LoadHostilePrograms(WHETSTONE_SOURCE_DIR "/tests/abuse/programs");
  if (!programs.ok()) {
    std::fprintf(stderr, "%s\n", programs.status().ToString().c_str());
    std::abort();
  }
  return *std::move(programs);
}

class AbuseTest : public ::testing::TestWithParam<HostileProgram> {
 protected:
  void SetUp() override {
    Workers& workers = Workers::Get();
    ASSERT_NE(workers.unscreened(), nullptr) << workers.error();
    if (programs_run_++ % kProgramsBetweenControls == 0) {
      ExpectHonestIsMeasured(workers.screened());
    }
    before_ = HostState();
  }
  void TearDown() override { EXPECT_EQ(HostState(), before_) << "something was left behind"; }

  void Expect(Measurer* measurer, const std::set<v1::Outcome>& allowed, const char* how) {
    const HostileProgram& program = GetParam();
    const v1::Verdict verdict = Workers::Get().Measure(measurer, program.source);
    std::printf(
        "  %-10s %-14s %s%s\n", how, v1::Outcome_Name(verdict.outcome()).c_str(),
        verdict.outcome() == v1::CORRECT ? absl::StrCat(verdict.speedup(), " ").c_str() : "",
        verdict.detail().substr(0, 100).c_str());
    EXPECT_EQ(allowed.count(verdict.outcome()), 1u)
        << how << ": " << program.what << ": " << v1::Outcome_Name(verdict.outcome()) << ", "
        << verdict.detail();
    if (verdict.outcome() == v1::CORRECT) {
      // A gain is one that the interval confirms: on a busy machine the median alone may stray.
      EXPECT_FALSE(verdict.speedup() > program.speedup_max && verdict.speedup_low() > 1)
          << how << ": " << program.what << ": gained " << verdict.speedup() << " ["
          << verdict.speedup_low() << ", " << verdict.speedup_high() << "]";
    }
    // A secret must not come back through diagnostics either.
    EXPECT_THAT(verdict.detail(), Not(HasSubstr("root:")));
  }

 private:
  static int programs_run_;
  std::string before_;
};
int AbuseTest::programs_run_ = 0;

TEST_P(AbuseTest, GetsATypedVerdictAndNoGain) {
  Expect(Workers::Get().unscreened(), GetParam().expect, "unscreened");
  Expect(Workers::Get().screened(), GetParam().screened, "screened");
}

INSTANTIATE_TEST_SUITE_P(Programs, AbuseTest, ::testing::ValuesIn(Programs()),
                         [](const auto& info) { return info.param.name; });

// The controls: afterwards honest code still measures as itself, and a real gain still counts.
TEST(AbuseControlTest, HonestCandidatesAreMeasuredAsBefore) {
  Workers& workers = Workers::Get();
  ASSERT_NE(workers.unscreened(), nullptr) << workers.error();
  ExpectHonestIsMeasured(workers.screened());
  const v1::Verdict faster = workers.Measure(workers.screened(), kMatmulIkj);
  EXPECT_EQ(v1::Outcome_Name(faster.outcome()), "CORRECT") << faster.detail();
  EXPECT_GT(faster.speedup(), 1.5);
}

TEST(HostileProgramTest, BadHeadersAreNamed) {
  EXPECT_THAT(std::string(ParseHostileProgram("x", "// expect: WRONG\n").status().message()),
              HasSubstr("no outcome is called 'WRONG'"));
  EXPECT_FALSE(ParseHostileProgram("x", "// what: y\n").ok());
  EXPECT_FALSE(ParseHostileProgram("x", "// what: y\n// expect: CORRECT\n").ok());
  EXPECT_TRUE(ParseHostileProgram("x", "// what: y\n// expect: CRASH\n").ok());
}

}  // namespace
}  // namespace whetstone
