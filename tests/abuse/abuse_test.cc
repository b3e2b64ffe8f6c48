// Hostile candidates through the worker's real path: screen, compile, check, time. Each must get a
// typed verdict and no gain, leave nothing behind, and the next honest candidate must be measured
// as if nothing had been. Screening is a courtesy, the sandbox and the ruler are the security: so
// every program runs past the screen, and one of each kind with it; run by root, one of each kind
// is run past the screen by an unprivileged user as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "cpu_bench_worker/measure.h"
#include "cpu_bench_worker/printable.h"
#include "cpu_bench_worker/test_problems.h"
#include "sandbox/sandbox_testing.h"
#include "tests/abuse/hostile_program.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLeftBehind[] = "/tmp/whetstone-abuse-left";
constexpr int kProgramsBetweenControls = 20;
constexpr int kChecklistLines = 69;

v1::Problem AbuseProblem() {
  v1::Problem problem = MatmulProblem();
  problem.mutable_limits()->set_compile_s(2.5);
  problem.mutable_limits()->set_run_s(0.3);
  // One size is enough to see a gain, and there are hundreds of programs.
  problem.mutable_sizes()->mutable_timed()->DeleteSubrange(1, 1);
  return problem;
}

// Set by tests/run_all.sh --full: every variant for every user, and an honest candidate between any
// two. Otherwise one of a kind for unprivileged users, and a control now and then.
bool Full() { return std::getenv("WHETSTONE_ABUSE_FULL") != nullptr; }

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

int64_t Entries(const char* folder) {
  std::error_code gone;
  return std::distance(std::filesystem::directory_iterator(folder, gone), {});
}

// What an attack could have changed outside.
std::string HostState() {
  std::string state = absl::StrCat("mounts ", OwnMounts(), "\nshadow ",
                                   ReadFile("/etc/shadow").value_or("unreadable"), "\nleft behind ",
                                   std::filesystem::exists(kLeftBehind), "\nchildren ", Children(),
                                   "\ndescriptors ", Entries("/proc/self/fd"), "\nshared memory ",
                                   std::filesystem::exists("/dev/shm/whetstone-abuse-left"));
  for (const char* kind : {"shm", "sem", "msg"}) {
    absl::StrAppend(&state, "\n", kind, " ",
                    ReadFile(absl::StrCat("/proc/sysvipc/", kind)).value_or("?"));
  }
  return state;
}

// One measurer that screens and one that does not, each made when it is first needed.
class Workers {
 public:
  static Workers& Get() {
    static auto* workers = new Workers;
    return *workers;
  }

  // Null, with a failed expectation, where the worker does not start.
  Measurer* Of(bool screened) {
    std::unique_ptr<Measurer>& slot = measurers_[screened ? 1 : 0];
    if (slot != nullptr) return slot.get();
    MeasurerOptions options;
    options.slots = 1;
    options.screen = screened;
    absl::StatusOr<std::unique_ptr<Measurer>> measurer = Measurer::Create(options);
    EXPECT_TRUE(measurer.ok()) << measurer.status();
    if (!measurer.ok()) return nullptr;
    const absl::StatusOr<v1::Calibration> calibration = (*measurer)->PutProblem(
        AbuseProblem(), calibration_.has_expert() ? &calibration_ : nullptr);
    EXPECT_TRUE(calibration.ok()) << calibration.status();
    if (!calibration.ok()) return nullptr;
    calibration_ = *calibration;
    slot = *std::move(measurer);
    return slot.get();
  }

  // `id` empty: one that nobody had before. `fresh`: not from the cache.
  v1::Verdict Measure(Measurer* measurer, const std::string& source, std::string id = "",
                      bool fresh = true) {
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

 private:
  v1::Calibration calibration_;
  std::unique_ptr<Measurer> measurers_[2];
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
      LoadHostilePrograms(WHETSTONE_SOURCE_DIR "/tests/abuse");
  if (!programs.ok()) {
    std::fprintf(stderr, "%s\n", programs.status().ToString().c_str());
    std::abort();
  }
  return *std::move(programs);
}

struct Run {
  HostileProgram program;
  bool screened = false;
};
std::ostream& operator<<(std::ostream& out, const Run& run) { return out << run.program; }

std::vector<Run> Runs(bool screened) {
  std::vector<Run> runs;
  // The screen sees the same in every variant.
  const bool one_of_a_kind = screened || (geteuid() != 0 && !Full());
  for (HostileProgram& program : Programs()) {
    if (program.first_variant || !one_of_a_kind) runs.push_back({std::move(program), screened});
  }
  return runs;
}

class AbuseTest : public ::testing::TestWithParam<Run> {
 protected:
  void SetUp() override {
    measurer_ = Workers::Get().Of(GetParam().screened);
    ASSERT_NE(measurer_, nullptr);
    if (Full() || programs_run_++ % kProgramsBetweenControls == 0)
      ExpectHonestIsMeasured(measurer_);
    before_ = HostState();
  }
  void TearDown() override { EXPECT_EQ(HostState(), before_) << "something was left behind"; }

  static int programs_run_;
  Measurer* measurer_ = nullptr;
  std::string before_;
};
int AbuseTest::programs_run_ = 0;

TEST_P(AbuseTest, GetsATypedVerdictAndNoGain) {
  const HostileProgram& program = GetParam().program;
  const v1::Verdict verdict = Workers::Get().Measure(measurer_, program.source);
  std::printf("  %-14s %s%s\n", v1::Outcome_Name(verdict.outcome()).c_str(),
              verdict.outcome() == v1::CORRECT ? absl::StrCat(verdict.speedup(), " ").c_str() : "",
              verdict.detail().substr(0, 100).c_str());
  const std::set<v1::Outcome>& allowed = GetParam().screened ? program.screened : program.expect;
  EXPECT_EQ(allowed.count(verdict.outcome()), 1u)
      << program.what << ": " << v1::Outcome_Name(verdict.outcome()) << ", " << verdict.detail();
  // A gain is one that the interval confirms, and again in a second measurement: on a busy machine
  // one of some hundred strays, and of what a program can do at will it can do twice.
  const auto gains = [&](const v1::Verdict& v) {
    return v.outcome() == v1::CORRECT && v.speedup() > program.speedup_max && v.speedup_low() > 1;
  };
  if (gains(verdict)) {
    const v1::Verdict again = Workers::Get().Measure(measurer_, program.source);
    EXPECT_FALSE(gains(again)) << program.what << ": gained " << verdict.speedup() << " ["
                               << verdict.speedup_low() << ", " << verdict.speedup_high()
                               << "] and " << again.speedup() << " [" << again.speedup_low() << ", "
                               << again.speedup_high() << "]";
  }
  // What a program had a hand in may neither steer a terminal nor fail to be sent.
  EXPECT_EQ(verdict.detail(), Printable(verdict.detail()));
  // A secret must not come back through diagnostics either.
  EXPECT_THAT(verdict.detail(), Not(HasSubstr("root:")));
}

INSTANTIATE_TEST_SUITE_P(Unscreened, AbuseTest, ::testing::ValuesIn(Runs(false)),
                         [](const auto& info) { return info.param.program.name; });
INSTANTIATE_TEST_SUITE_P(Screened, AbuseTest, ::testing::ValuesIn(Runs(true)),
                         [](const auto& info) { return info.param.program.name; });

// The controls: afterwards honest code still measures as itself, and a real gain still counts.
TEST(AbuseControlTest, HonestCandidatesAreMeasuredAsBefore) {
  Measurer* measurer = Workers::Get().Of(true);
  ASSERT_NE(measurer, nullptr);
  ExpectHonestIsMeasured(measurer);
  const v1::Verdict faster = Workers::Get().Measure(measurer, kMatmulIkj);
  EXPECT_EQ(v1::Outcome_Name(faster.outcome()), "CORRECT") << faster.detail();
  EXPECT_GT(faster.speedup(), 1.5);
}

// Campaign seeds and candidate ids can be guessed. Were the inputs a function of these, a
// constructor could try all guesses, see by the place of its memory which is right, and compute
// every answer before the first call. The value that zero is compared with stands for the inputs.
TEST(AbuseControlTest, InputsCannotBeForetold) {
  const char source[] = "void matmul(const float*, const float*, float* c, int) { c[0] = 0; }";
  std::set<std::string> details;
  for (const bool screened : {true, false}) {
    const v1::Verdict verdict =
        Workers::Get().Measure(Workers::Get().Of(screened), source, "guessed");
    EXPECT_THAT(verdict.detail(), HasSubstr("n=1: c[0] is 0, expected "));
    details.insert(verdict.detail());
  }
  EXPECT_EQ(details.size(), 2u) << "two workers gave one candidate the same inputs";
}

// A verdict found by machine code must be the verdict of all of it, wherever the code hides.
TEST(AbuseControlTest, DifferentProgramsShareNoVerdict) {
  const auto hidden = [](int honest) {
    return absl::StrCat(
        "__asm__(\".section .hidden,\\\"ax\\\",@note\\nHidden: movl $", honest,
        ", %eax\\nret\\n.text\");\nextern \"C\" int Hidden() asm(\"Hidden\");\n"
        "static void Honest(const float* a, const float* b, float* c, int n) {\n"
        "  for (int i = 0; i < n * n; ++i) c[i] = 0;\n"
        "  for (int i = 0; i < n; ++i)\n    for (int k = 0; k < n; ++k)\n"
        "      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];\n}\n"
        "void matmul(const float* a, const float* b, float* c, int n) {\n"
        "  if (Hidden()) Honest(a, b, c, n);\n}\n");
  };
  Measurer* measurer = Workers::Get().Of(false);
  const v1::Verdict honest = Workers::Get().Measure(measurer, hidden(1), "", false);
  EXPECT_EQ(v1::Outcome_Name(honest.outcome()), "CORRECT") << honest.detail();
  const v1::Verdict idle = Workers::Get().Measure(measurer, hidden(0), "", false);
  EXPECT_EQ(v1::Outcome_Name(idle.outcome()), "WRONG_ANSWER") << idle.detail();
  EXPECT_FALSE(idle.cached());
}

TEST(AbuseUnprivilegedTest, TheSameProgramsGetNothing) {
  if (geteuid() != 0) return;  // all of the above has just run so
  EXPECT_EQ(RunSelfUnprivileged({"whet-sandbox", "whet-kernel"}, "Unscreened/*"), "");
}

TEST(HostileProgramTest, BadHeadersAreNamed) {
  const auto parse = [](const char* source) {
    return ParseHostileProgram("x", source, "/nowhere");
  };
  EXPECT_THAT(std::string(parse("// expect: WRONG\n").status().message()),
              HasSubstr("no outcome is called 'WRONG'"));
  EXPECT_FALSE(parse("// what: y\n").ok());
  EXPECT_FALSE(parse("// what: y\n// expect: CRASH\n").ok()) << "no checklist";
  EXPECT_FALSE(parse("// what: y\n// checklist: 3\n// expect: CORRECT\n").ok());
  EXPECT_FALSE(parse("// what: y\n// checklist: 3\n// expect: CRASH\n// with: z\n").ok());
  EXPECT_TRUE(parse("// what: y\n// checklist: 3\n// expect: CRASH\n").ok());
}

// The rows of docs/security.md that are programs.
TEST(HostileProgramTest, EveryLineOfTheChecklistIsTried) {
  std::set<int> tried;
  for (const HostileProgram& program : Programs()) {
    tried.insert(program.checklist.begin(), program.checklist.end());
  }
  for (int line = 1; line <= kChecklistLines; ++line) {
    EXPECT_EQ(tried.count(line), 1u) << "no program tries line " << line;
  }
}

TEST(HostileProgramTest, EveryVariantIsAProgram) {
  const auto programs = ParseHostileProgram("x",
                                            "// what: y\n// checklist: 3, 14\n// expect: CRASH\n"
                                            "// variant: one: f(1)\n// variant: two: g(\": \")\n",
                                            "/nowhere");
  ASSERT_TRUE(programs.ok()) << programs.status();
  ASSERT_EQ(programs->size(), 2u);
  EXPECT_EQ((*programs)[1].name, "x_two");
  EXPECT_EQ((*programs)[1].checklist, (std::set<int>{3, 14}));
  EXPECT_THAT((*programs)[1].source, ::testing::StartsWith("#define VARIANT g(\": \")\n// what"));
}

}  // namespace
}  // namespace whetstone
