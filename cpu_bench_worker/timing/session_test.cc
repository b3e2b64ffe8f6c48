#include "cpu_bench_worker/timing/session.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "cpu_bench_worker/timing/session_testing.h"

namespace whetstone {
namespace {

TEST_F(SessionTest, AProblemMayAskForClang) {
  v1::Problem problem = MatmulProblem();
  const auto gnu = compiler_->Prepare(problem.compile(), 20);
  ASSERT_TRUE(gnu.ok()) << gnu.status();
  problem.mutable_compile()->set_compiler("clang++");
  if (compiler_->tool_chains().size() < 2) {
    EXPECT_EQ(compiler_->Prepare(problem.compile(), 20).status().message(),
              "compile.compiler: this host has no clang++; install it there or use g++");
    GTEST_SKIP() << "this host has no clang++";
  }
  Use(problem);
  EXPECT_TRUE(absl::StrContains(config_.tools->version, "clang")) << config_.tools->version;
  EXPECT_NE(config_.headers, gnu->headers);
  Failure failure;
  const CheckReport report = Check(problem.expert(), &failure);
  EXPECT_EQ(failure.detail, "");
  EXPECT_EQ(report.cases_right, report.cases) << report.first_bad;
  const CompileResult broken =
      compiler_->Compile(config_, "", "#include <vector>\nint f() { return x; }", "f");
  EXPECT_FALSE(broken.compiled);
  EXPECT_EQ(broken.diagnostics, "line 2: error: use of undeclared identifier 'x'");
}

TEST_F(SessionTest, WrongAnswersAreDescribed) {
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

TEST_F(SessionTest, AnEmptyBodyLeavesPoison) {
  Use(MatmulProblem());
  Failure failure;
  const CheckReport report =
      Check("void matmul(const float*, const float*, float*, int) {}", &failure);
  EXPECT_EQ(report.cases_right, 0);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "nan")) << report.first_bad;
}

TEST_F(SessionTest, WritingAnInputIsACrash) {
  Use(MatmulProblem());
  Failure failure;
  Check(
      "void matmul(const float* a, const float* b, float* c, int n) {\n"
      "  const_cast<float*>(a)[0] = 1;\n}\n",
      &failure);
  EXPECT_EQ(failure.outcome, v1::CRASH) << failure.detail;
  EXPECT_TRUE(absl::StrContains(failure.detail, "SIGSEGV")) << failure.detail;
}

TEST_F(SessionTest, ReadingPastAnArrayIsACrash) {
  Use(MatmulProblem());
  for (const std::string array : {"a", "b", "c"}) {
    Failure failure;
    // What it reads too much changes nothing.
    Check(absl::StrCat("void matmul(const float* a, const float* b, float* c, int n) {\n"
                       "  for (int i = 0; i < n; ++i)\n"
                       "    for (int j = 0; j < n; ++j) {\n"
                       "      float sum = 0;\n"
                       "      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];\n"
                       "      c[i * n + j] = sum;\n"
                       "    }\n"
                       "  if (",
                       array, "[n * n] == 12345) c[0] = 0;\n}\n"),
          &failure);
    EXPECT_EQ(failure.outcome, v1::CRASH) << array << ": " << failure.detail;
    EXPECT_TRUE(absl::StrContains(failure.detail, "SIGSEGV")) << failure.detail;
  }
}

TEST_F(SessionTest, WritingBesideTheOutputIsWrongAndACrashWhereMemoryEnds) {
  Use(MatmulProblem());
  Failure failure;
  const CheckReport report = Check(
      std::string(kMatmulIjk).replace(std::string(kMatmulIjk).rfind('}'), 1, "c[n * n] = 1; }"),
      &failure);
  EXPECT_EQ(report.cases_right, 0);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "outside")) << report.first_bad;
  EXPECT_EQ(failure.outcome, v1::CRASH) << failure.detail;
  EXPECT_TRUE(absl::StrContains(failure.detail, report.first_bad)) << failure.detail;
}

// A child that runs between its invocations may compute what another one left in the inputs,
// however long nobody watches.
TEST_F(SessionTest, ANapBetweenInvocationsIsForbidden) {
  Use(MatmulProblem());
  const absl::StatusOr<std::string> mailbox =
      ReadFile(SourceDir() + "/tests/abuse/helpers/mailbox.inc");
  ASSERT_TRUE(mailbox.ok()) << mailbox.status();
  const std::string source = absl::StrCat("#include <time.h>\n", *mailbox, "#define matmul Ikj\n",
                                          kMatmulIkj, "#undef matmul\n", R"cpp(
    static void Serve() {
      Mailbox* mailbox = FindMailbox();
      auto* table = (const std::uint64_t*)((char*)mailbox + 4096);
      for (std::uint32_t seen = mailbox->request.load();; seen = mailbox->request.load()) {
        for (std::uint32_t i = 0; i < mailbox->calls; ++i) {
          const std::uint64_t* row = table + i * mailbox->words_per_call;
          Ikj((const float*)row[0], (const float*)row[1], (float*)row[2], (int)row[3]);
        }
        mailbox->response.store(seen);
        if (mailbox->wake) syscall(SYS_futex, &mailbox->response, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        const timespec nap = {0, 3000000};
        while (mailbox->request.load() == seen)
          syscall(SYS_futex, &mailbox->request, FUTEX_WAIT, seen, &nap, nullptr, 0);
      }
    }
    void matmul(const float* a, const float* b, float* c, int n) { Serve(); }
  )cpp");
  Session session(context_, Build(source), 5);
  CallBatch batch(&problem_.arguments, problem_.check[3], 1, Placement{});
  ASSERT_FALSE(session.FreshProcessPair({&batch}, false).has_value());
  ASSERT_FALSE(session.Fill(1, FillStyle::kPlain, &batch).has_value());
  PairedSample sample;
  std::optional<Failure> failure = session.TakeSample(batch, {}, &sample);
  if (!failure.has_value()) {
    EXPECT_EQ(sample.right_calls, 1) << sample.first_bad;
  }
  // It wakes again and again, and sleeps again, as soon as the machine lets it.
  ASSERT_TRUE(Eventually([&] {
    if (!failure.has_value()) failure = session.TakeSample(batch, {}, &sample);
    return failure.has_value();
  }));
  EXPECT_EQ(failure->outcome, v1::FORBIDDEN);
  EXPECT_EQ(failure->detail, "ran between calls, when it should have slept");
}

TEST_F(SessionTest, AHangIsATimeout) {
  Use(MatmulProblem());
  Failure failure;
  Check("void matmul(const float*, const float*, float* c, int) { for (;;) c[0] = c[0] + 1; }",
        &failure);
  EXPECT_EQ(failure.outcome, v1::TIMEOUT) << failure.detail;
}

TEST_F(SessionTest, GeneratorAndCheckerJudgeInOutArrays) {
  Use(PartitionProblem());
  Failure failure;
  CheckReport report = Check(problem_.problem.expert(), &failure);
  EXPECT_EQ(failure.detail, "");
  EXPECT_EQ(report.cases_right, report.cases) << report.first_bad;
  report = Check("int partition(int* data, int n, int pivot) { data[0] = 1; return 0; }", &failure);
  EXPECT_LT(report.cases_right, report.cases);
  EXPECT_TRUE(absl::StrContains(report.first_bad, "checker refused")) << report.first_bad;
}

// Returns the most memory that this process had resident since the last call, in MiB.
double PeakMemoryMib() {
  double kib = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (absl::StartsWith(line, "VmHWM:")) kib = std::atof(line.c_str() + 6);
  std::ofstream("/proc/self/clear_refs") << "5";  // The peak begins anew.
  return kib / 1024;
}

TEST_F(SessionTest, InputsOf256MibAreFilledInPlaceAndNeverCopied) {
  v1::Problem problem = MatmulProblem();  // Its rules and limits are used.
  problem.set_signature("double total(const float* x, long n)");
  problem.clear_args();
  v1::Argument* x = problem.add_args();
  x->set_name("x");
  x->mutable_array()->set_type(v1::F32);
  x->mutable_array()->add_shape("n");
  x->mutable_array()->mutable_fill()->set_kind(v1::Fill::UNIFORM);
  for (const double bound : {0.0, 1.0}) x->mutable_array()->mutable_fill()->add_parameters(bound);
  v1::Argument* n = problem.add_args();
  n->set_name("n");
  n->set_size("n");
  problem.mutable_returns()->set_type(v1::F64);
  problem.mutable_sizes()->Clear();
  (*problem.mutable_sizes()->add_check()->mutable_values())["n"] = 1000;
  (*problem.mutable_sizes()->add_timed()->mutable_values())["n"] = 64 << 20;
  problem.mutable_compare()->set_rule(v1::Compare::ELEMENTWISE);
  problem.mutable_compare()->set_rtol(1e-9);
  problem.set_reference(
      "double total(const float* x, long n) {\n  double sum = 0;\n"
      "  for (long i = 0; i < n; ++i) sum += x[i];\n  return sum;\n}\n");
  Use(problem);
  const std::string eight =
      "double total(const float* x, long n) {\n  double sum[8] = {};\n"
      "  for (long i = 0; i + 8 <= n; i += 8)\n"
      "    for (long k = 0; k < 8; ++k) sum[k] += x[i + k];\n"
      "  for (long i = n / 8 * 8; i < n; ++i) sum[0] += x[i];\n"
      "  return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];\n}\n";
  PeakMemoryMib();
  const double before = PeakMemoryMib();
  Session session(context_, Build(eight), 3);
  CheckReport check;
  auto failure = CheckCandidate(&session, &check);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(check.cases_right, check.cases) << check.first_bad;
  TimeReport time;
  failure = TimeCandidate(&session, problem_.timed, check.timed, {.budget_s = 2}, &time);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(time.first_bad, "");
  EXPECT_GT(time.score.speedup, 1.3);
  const double grown = PeakMemoryMib() - before;
  EXPECT_GT(grown, 250);
  EXPECT_LT(grown, 1.2 * 256) << "MiB: one place for the inputs, no image, no copy";
  // A sum remembered from the sample before is wrong: every sample has inputs of its own.
  Session cheat(context_,
                Build("double total(const float* x, long n) {\n  static double known = 0;\n"
                      "  static long of = 0;\n  if (of != n) {\n    known = 0;\n    of = n;\n"
                      "    for (long i = 0; i < n; ++i) known += x[i];\n  }\n  return known;\n}\n"),
                3);
  CheckReport cheated;
  failure = CheckCandidate(&cheat, &cheated);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_LT(cheated.cases_right, cheated.cases);
}

struct TypeCase {
  const char* name;
  v1::ElementType type;
  const char* cpp;
  double lo, hi;
};

class SessionTypeTest : public SessionTest, public ::testing::WithParamInterface<TypeCase> {};

// An input, a scalar, two outputs (one in place) and a returned value of every element type get
// through to the program and back, and a mistake in any of them is seen.
TEST_P(SessionTypeTest, ArgumentsAndResultsOfEveryKind) {
  const TypeCase& c = GetParam();
  v1::Problem problem = MatmulProblem();
  const std::string t = c.cpp;
  const std::string signature =
      absl::StrCat(t, " f(const ", t, "* a, ", t, " s, ", t, "* b, ", t, "* c, int n)");
  problem.set_signature(signature);
  problem.clear_args();
  const auto set_fill = [&](v1::Fill* fill) {
    fill->set_kind(v1::Fill::UNIFORM);
    fill->add_parameters(c.lo);
    fill->add_parameters(c.hi);
  };
  for (const char* name : {"a", "s", "b", "c", "n"}) {
    v1::Argument* arg = problem.add_args();
    arg->set_name(name);
    if (*name == 's') {
      arg->mutable_scalar()->set_type(c.type);
      set_fill(arg->mutable_scalar()->mutable_fill());
    } else if (*name == 'n') {
      arg->set_size("n");
    } else {
      v1::Array* array = arg->mutable_array();
      array->set_type(c.type);
      array->add_shape("n");
      array->set_direction(*name == 'a'   ? v1::Array::IN
                           : *name == 'b' ? v1::Array::OUT
                                          : v1::Array::INOUT);
      if (*name != 'b') set_fill(array->mutable_fill());
    }
  }
  problem.mutable_returns()->set_type(c.type);
  problem.mutable_sizes()->Clear();
  for (const int n : {1, 7, 100}) {
    (*problem.mutable_sizes()->add_check()->mutable_values())["n"] = n;
  }
  (*problem.mutable_sizes()->add_timed()->mutable_values())["n"] = 5000;
  problem.mutable_compare()->set_rule(v1::Compare::EXACT);
  // `mistake` is what a wrong program does instead at the end.
  const auto program = [&](const std::string& mistake) {
    return absl::StrCat(signature, " {\n  ", t, " r = c[n - 1];\n",
                        "  for (int i = 0; i < n; ++i) {\n    ", t, " old = c[i];\n",
                        "    c[i] = a[n - 1 - i];\n    b[i] = i % 3 == 0 ? s : old;\n  }\n  ",
                        mistake, "\n  return r;\n}\n");
  };
  problem.set_reference(program(""));
  Use(problem);
  Failure failure;
  const CheckReport right =
      Check(absl::StrCat("// another program\n", program("if (n < 0) r = s;")), &failure);
  EXPECT_EQ(failure.outcome, v1::OUTCOME_UNSPECIFIED) << failure.detail;
  EXPECT_EQ(right.cases_right, right.cases) << right.first_bad;
  // Each type tries one mistake, so that all types together try all kinds.
  const struct {
    const char* mistake;
    const char* seen;
  } kMistakes[] = {{"b[n - 1] = a[0] == s ? 1 : a[0];", "b["},
                   {"c[n / 2] = s;", "c["},
                   {"r = s;", "the returned value"}};
  const auto& m = kMistakes[static_cast<size_t>(c.type) % 3];
  const CheckReport wrong = Check(program(m.mistake), &failure);
  EXPECT_EQ(failure.outcome, v1::OUTCOME_UNSPECIFIED) << failure.detail;
  EXPECT_LT(wrong.cases_right, wrong.cases);
  EXPECT_TRUE(absl::StrContains(wrong.first_bad, m.seen)) << wrong.first_bad;
}

INSTANTIATE_TEST_SUITE_P(
    Types, SessionTypeTest,
    ::testing::Values(TypeCase{"f32", v1::F32, "float", -1, 1},
                      TypeCase{"f64", v1::F64, "double", -1, 1},
                      TypeCase{"bf16", v1::BF16, "unsigned short", -1, 1},
                      TypeCase{"i8", v1::I8, "signed char", -128, 127},
                      TypeCase{"i16", v1::I16, "short", -32768, 32767},
                      TypeCase{"i32", v1::I32, "int", -2147483648.0, 2147483647.0},
                      TypeCase{"i64", v1::I64, "long", -9e15, 9e15},
                      TypeCase{"bytes", v1::U8, "unsigned char", 0, 255},
                      TypeCase{"u16", v1::U16, "unsigned short", 0, 65535},
                      TypeCase{"u32", v1::U32, "unsigned int", 0, 4294967295.0},
                      TypeCase{"u64", v1::U64, "unsigned long", 0, 9e15}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace whetstone
