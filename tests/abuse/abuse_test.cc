// Hostile candidates go the worker's real path here: screen, compile, check, time. Each must get a
// typed verdict and no gain, leave nothing behind, and the next honest candidate must be measured
// as if nothing had been. Screening is a courtesy, the sandbox and the ruler are the security: so
// every program runs past the screen, and one of each kind with it; run by root, one of each kind
// is run past the screen by an unprivileged user as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "cpu_bench_worker/problem/test_problems.h"
#include "sandbox/sandbox_testing.h"
#include "tests/abuse/abuse_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

constexpr int kProgramsBetweenControls = 20;
constexpr int kChecklistLines = 69;

// Returns whether tests/run_all.sh --full asks for every variant for every user, and an honest
// candidate between any two. Otherwise there is one of a kind for unprivileged users, and a control
// now and then.
bool Full() { return std::getenv("WHETSTONE_ABUSE_FULL") != nullptr; }

struct Run {
  HostileProgram program;
  bool screened = false;
  Path path = Path::kCampaign;
};
std::ostream& operator<<(std::ostream& out, const Run& run) { return out << run.program; }

// What is measured at all, and past the screen, goes the precise path as well as that of campaigns.
std::vector<Run> Runs(bool screened, Path path) {
  std::vector<Run> runs;
  // The screen sees the same in every variant.
  const bool one_of_a_kind = screened || (geteuid() != 0 && !Full());
  for (HostileProgram& program : HostilePrograms()) {
    if (path == Path::kPrecise && program.expect.count(v1::CORRECT) == 0) continue;
    if (program.first_variant || !one_of_a_kind)
      runs.push_back({std::move(program), screened, path});
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
    Workers::Get().Put(measurer_, GetParam().program.problem);
    before_ = HostState();
  }
  void TearDown() override { EXPECT_EQ(HostState(), before_) << "something was left behind"; }

  static int programs_run_;
  Measurer* measurer_ = nullptr;
  std::string before_;
};
int AbuseTest::programs_run_ = 0;

TEST_P(AbuseTest, GetsATypedVerdictAndNoGain) {
  const v1::Verdict verdict =
      ExpectGetsNothing(GetParam().program, GetParam().screened, GetParam().path);
  std::printf("  %-14s %s%s\n", v1::Outcome_Name(verdict.outcome()).c_str(),
              verdict.outcome() == v1::CORRECT ? absl::StrCat(verdict.speedup(), " ").c_str() : "",
              verdict.detail().substr(0, 100).c_str());
}

constexpr auto kNameOf = [](const auto& info) { return info.param.program.name; };
INSTANTIATE_TEST_SUITE_P(Unscreened, AbuseTest, ::testing::ValuesIn(Runs(false, Path::kCampaign)),
                         kNameOf);
INSTANTIATE_TEST_SUITE_P(UnscreenedPrecise, AbuseTest,
                         ::testing::ValuesIn(Runs(false, Path::kPrecise)), kNameOf);
INSTANTIATE_TEST_SUITE_P(Screened, AbuseTest, ::testing::ValuesIn(Runs(true, Path::kCampaign)),
                         kNameOf);

// These are the controls: afterwards honest code still measures as itself, and a real gain still
// counts.
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
  const v1::Verdict honest = Workers::Get().Measure(measurer, hidden(1), "", Path::kCampaign);
  EXPECT_EQ(v1::Outcome_Name(honest.outcome()), "CORRECT") << honest.detail();
  const v1::Verdict idle = Workers::Get().Measure(measurer, hidden(0), "", Path::kCampaign);
  EXPECT_EQ(v1::Outcome_Name(idle.outcome()), "WRONG_ANSWER") << idle.detail();
  EXPECT_FALSE(idle.cached());
}

TEST(AbuseUnprivilegedTest, TheSameProgramsGetNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "all of the above has just run as such a user";
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
  EXPECT_FALSE(parse("// what: y\n// checklist: 3\n// expect: CORRECT\n// twin: 0\n").ok())
      << "a twin without variants";
  EXPECT_FALSE(parse("// what: y\n// checklist: 3\n// expect: CRASH\n// with: z\n").ok());
  EXPECT_TRUE(parse("// what: y\n// checklist: 3\n// expect: CRASH\n").ok());
}

// The rows of docs/security.md that are programs are all tried.
TEST(HostileProgramTest, EveryLineOfTheChecklistIsTried) {
  std::set<int> tried;
  for (const HostileProgram& program : HostilePrograms()) {
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
