#include "cpu_bench_worker/trial.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "cpu_bench_worker/check_stage.h"
#include "cpu_bench_worker/compiler.h"
#include "cpu_bench_worker/shim.h"
#include "cpu_bench_worker/test_problems.h"
#include "cpu_bench_worker/time_stage.h"

namespace whetstone {
namespace {

// One problem, compiled without screen and service.
class TrialTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto dir = TempDir::Make("trial");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = new TempDir(std::move(*dir));
    auto compiler = Compiler::Create(dir_->path(), {});
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    compiler_ = std::move(*compiler).release();
  }
  static void TearDownTestSuite() {
    delete compiler_;
    delete dir_;
  }
  void SetUp() override { ASSERT_NE(compiler_, nullptr); }

  void Use(const v1::Problem& problem) {
    problem_.problem = problem;
    auto kit = compiler_->Prepare(problem.compile(), 20);
    ASSERT_TRUE(kit.ok()) << kit.status();
    kit_ = *kit;
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
    context_.kernel_binary = WHETSTONE_BIN_DIR "/whet-kernel";
    context_.problem = &problem_;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    if (CPU_COUNT(&set) > 1) context_.cores = {0, {1}, true};
  }

  // Path of the compiled object.
  std::string Build(const std::string& source, CallRole role = CallRole::kKernel) {
    auto shim_source = ShimSource(problem_.problem.signature(), problem_.arguments, role);
    EXPECT_TRUE(shim_source.ok()) << shim_source.status();
    auto shim = compiler_->CompileShim(kit_, *shim_source);
    EXPECT_TRUE(shim.ok()) << shim.status();
    const CompileResult result = compiler_->Compile(kit_, *shim, source, "f");
    EXPECT_TRUE(result.compiled) << result.status << result.diagnostics;
    const std::string path = dir_->path() + "/" + std::to_string(built_++) + ".so";
    EXPECT_TRUE(WriteFileAtomically(path, result.object).ok());
    return path;
  }

  CheckReport Check(const std::string& source, Failure* failure) {
    Trial trial(context_, Build(source), 1);
    CheckReport report;
    const auto end = CheckCandidate(&trial, problem_.timed, &report);
    *failure = end.value_or(Failure{});
    return report;
  }

  static TempDir* dir_;
  static Compiler* compiler_;
  static int built_;
  CompileKit kit_;
  BenchProblem problem_;
  BenchContext context_;
};
TempDir* TrialTest::dir_ = nullptr;
Compiler* TrialTest::compiler_ = nullptr;
int TrialTest::built_ = 0;

TEST_F(TrialTest, TheReferenceIsRightAndAsFastAsItself) {
  Use(MatmulProblem());
  Trial trial(context_, Build(kMatmulIjk), 5);
  CheckReport check;
  auto failure = CheckCandidate(&trial, problem_.timed, &check);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(check.cases_right, check.cases) << check.first_bad;
  EXPECT_EQ(check.cases, 4 * 3 + 2 * 3);
  TimeReport time;
  failure = TimeCandidate(&trial, problem_.timed, check.timed, 20, &time);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(time.first_bad, "");
  EXPECT_NEAR(time.score.speedup, 1.0, 0.05);
  EXPECT_LE(time.score.low, time.score.speedup);
  EXPECT_GE(time.score.high, time.score.speedup);
  ASSERT_EQ(time.sizes.size(), 2u);
  for (const TimedSize& size : time.sizes) EXPECT_GT(size.reference_ns, 1000);
}

TEST_F(TrialTest, AFasterProgramIsFaster) {
  Use(MatmulProblem());
  Trial trial(context_, Build(kMatmulIkj), 5);
  CheckReport check;
  auto failure = CheckCandidate(&trial, problem_.timed, &check);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(check.cases_right, check.cases) << check.first_bad;
  TimeReport time;
  failure = TimeCandidate(&trial, problem_.timed, check.timed, 20, &time);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_GT(time.score.speedup, 2.0);
}

TEST_F(TrialTest, WrongAnswersAreDescribed) {
  Use(MatmulProblem());
  Failure failure;
  const CheckReport report = Check(
      "void matmul(const float* a, const float* b, float* c, int n) {\n"
      "  for (int i = 0; i < n * n; ++i) c[i] = 0;\n}\n",
      &failure);
  EXPECT_EQ(failure.outcome, v1::OUTCOME_UNSPECIFIED) << failure.detail;
  EXPECT_EQ(report.cases_right, 0);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "n=1: c[0] is 0, expected ")) << report.first_bad;
}

TEST_F(TrialTest, AnEmptyBodyLeavesPoison) {
  Use(MatmulProblem());
  Failure failure;
  const CheckReport report =
      Check("void matmul(const float*, const float*, float*, int) {}", &failure);
  EXPECT_EQ(report.cases_right, 0);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "nan")) << report.first_bad;
}

TEST_F(TrialTest, WritingAnInputIsACrash) {
  Use(MatmulProblem());
  Failure failure;
  Check(
      "void matmul(const float* a, const float* b, float* c, int n) {\n"
      "  const_cast<float*>(a)[0] = 1;\n}\n",
      &failure);
  EXPECT_EQ(failure.outcome, v1::CRASH) << failure.detail;
  EXPECT_TRUE(absl::StrContains(failure.detail, "SIGSEGV")) << failure.detail;
}

TEST_F(TrialTest, WritingBesideTheOutputIsWrong) {
  Use(MatmulProblem());
  Failure failure;
  const CheckReport report = Check(
      std::string(kMatmulIjk).replace(std::string(kMatmulIjk).rfind('}'), 1, "c[n * n] = 1; }"),
      &failure);
  EXPECT_EQ(report.cases_right, 0);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "outside")) << report.first_bad;
}

// A child that runs between its turns may compute what another turn left in the inputs, however
// long nobody looks.
TEST_F(TrialTest, ANapBetweenTurnsIsForbidden) {
  Use(MatmulProblem());
  const absl::StatusOr<std::string> door =
      ReadFile(WHETSTONE_SOURCE_DIR "/tests/abuse/helpers/door.inc");
  ASSERT_TRUE(door.ok()) << door.status();
  const std::string source = absl::StrCat("#include <time.h>\n", *door, "#define matmul Ikj\n",
                                          kMatmulIkj, "#undef matmul\n", R"cpp(
    static void Serve() {
      Door* door = FindDoor();
      auto* table = (const std::uint64_t*)((char*)door + 4096);
      for (std::uint32_t seen = door->bell.load();; seen = door->bell.load()) {
        for (std::uint32_t i = 0; i < door->calls; ++i) {
          const std::uint64_t* row = table + i * door->slots;
          Ikj((const float*)row[0], (const float*)row[1], (float*)row[2], (int)row[3]);
        }
        door->answer.store(seen);
        if (door->wake) syscall(SYS_futex, &door->answer, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        const timespec nap = {0, 3000000};
        while (door->bell.load() == seen)
          syscall(SYS_futex, &door->bell, FUTEX_WAIT, seen, &nap, nullptr, 0);
      }
    }
    void matmul(const float* a, const float* b, float* c, int n) { Serve(); }
  )cpp");
  Trial trial(context_, Build(source), 5);
  CallBatch batch(&problem_.arguments, problem_.check[3], 1, Placement{});
  ASSERT_FALSE(trial.FreshPair({&batch}, false).has_value());
  ASSERT_FALSE(trial.Fill(1, FillStyle::kPlain, &batch).has_value());
  Round round;
  std::optional<Failure> failure = trial.Play(batch, {}, &round);
  if (!failure.has_value()) {
    EXPECT_EQ(round.right_calls, 1) << round.first_bad;
    usleep(20'000);  // it wakes several times, and sleeps again
    failure = trial.Play(batch, {}, &round);
  }
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->outcome, v1::FORBIDDEN);
  EXPECT_EQ(failure->detail, "ran between calls, when it should have slept");
}

TEST_F(TrialTest, AHangIsATimeout) {
  Use(MatmulProblem());
  Failure failure;
  Check("void matmul(const float*, const float*, float* c, int) { for (;;) c[0] = c[0] + 1; }",
        &failure);
  EXPECT_EQ(failure.outcome, v1::TIMEOUT) << failure.detail;
}

TEST_F(TrialTest, GeneratorAndCheckerJudgeInOutArrays) {
  Use(PartitionProblem());
  Failure failure;
  CheckReport report = Check(problem_.problem.expert(), &failure);
  EXPECT_EQ(failure.detail, "");
  EXPECT_EQ(report.cases_right, report.cases) << report.first_bad;
  report = Check("int partition(int* data, int n, int pivot) { data[0] = 1; return 0; }", &failure);
  EXPECT_LT(report.cases_right, report.cases);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "checker refused")) << report.first_bad;
}

}  // namespace
}  // namespace whetstone
