#include "cpu_bench_worker/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/measure/measure_testing.h"
#include "cpu_bench_worker/measure/worker_bench.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

TEST_F(MeasureTest, CalibrationKnowsTheExpertAndTheAaThreshold) {
  EXPECT_EQ(calibration_->expert().outcome(), v1::CORRECT);
  EXPECT_GT(calibration_->expert().speedup(), 2.0);
  EXPECT_GT(calibration_->noise_band(), 0);
  EXPECT_LT(calibration_->noise_band(), 0.5);
}

TEST_F(MeasureTest, AProblemWithoutAnExpertIsMeasured) {
  MeasurerOptions options;
  options.bin_dir = BinDir();
  const auto measurer = Measurer::Create(options);
  ASSERT_TRUE(measurer.ok()) << measurer.status();
  v1::Problem problem = *problem_;
  // What rules made on another host may be wrong on this one.
  problem.set_expert(Matmul("c[0] = 5;"));
  EXPECT_FALSE((*measurer)->PutProblem(problem, nullptr).ok());
  problem.set_expert_by_rules(true);
  auto calibration = (*measurer)->PutProblem(problem, nullptr);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->expert().outcome(), v1::CORRECT);
  EXPECT_EQ(calibration->expert().speedup(), 0);
  problem.clear_expert();
  problem.clear_expert_by_rules();
  calibration = (*measurer)->PutProblem(problem, nullptr);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->expert().speedup(), 0);
  v1::MeasureRequest request = Request("no expert", Variant(kMatmulIkj, 3), true);
  request.set_problem_hash(ProblemHash(problem));
  const auto verdict = (*measurer)->Measure(request);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_GT(verdict->speedup(), 2.0) << verdict->detail();
}

TEST_F(MeasureTest, AChallengerIsMeasuredWithAllProcessPairs) {
  v1::MeasureRequest request = Request("all pairs", Variant(kMatmulIkj, 1), true);
  request.set_fresh(true);
  const auto verdict = measurer_->Measure(request);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_FALSE(verdict->stopped_early());
  EXPECT_GT(verdict->process_pairs(), 3);
  EXPECT_GT(verdict->invocations_s(), 0);
  EXPECT_LE(verdict->start_s() + verdict->invocations_s(), verdict->time_s());
}

TEST_F(MeasureTest, AaThresholdsAreMeasuredBySlotAndUsed) {
  const v1::Verdict verdict = Measure("noise/1", Variant(kMatmulIkj, 2), true);
  const v1::WorkerInfo info = measurer_->Info();
  ASSERT_EQ(info.slot_noise_bands_size(), info.slots());
  EXPECT_GT(info.slot_noise_measurements(), 0);
  const double widest =
      *std::max_element(info.slot_noise_bands().begin(), info.slot_noise_bands().end());
  EXPECT_TRUE(0 < widest && widest < 0.5) << widest;
  EXPECT_GE(verdict.noise_band(), std::max(widest, calibration_->noise_band()));
}

TEST_F(MeasureTest, OldAaThresholdsAreMeasuredAgain) {
  MeasurerOptions options;
  options.bin_dir = BinDir();
  options.aa_interval = std::chrono::seconds(0);
  const auto measurer = Measurer::Create(options);
  ASSERT_TRUE(measurer.ok()) << measurer.status();
  ASSERT_TRUE((*measurer)->PutProblem(*problem_, calibration_).ok());
  for (int i = 1; i <= 2; ++i) {
    v1::MeasureRequest request = Request(absl::StrCat("old noise/", i), kMatmulIkj, true);
    request.set_fresh(true);
    ASSERT_TRUE((*measurer)->Measure(request).ok());
    EXPECT_EQ((*measurer)->Info().slot_noise_measurements(), i);
  }
}

TEST_F(MeasureTest, TheReferenceScoresOne) {
  const v1::Verdict verdict = Measure("equal", kMatmulIjk, true);
  EXPECT_EQ(verdict.outcome(), v1::CORRECT) << verdict.detail();
  EXPECT_TRUE(verdict.timed());
  EXPECT_NEAR(verdict.speedup(), 1.0, 0.05);
  ASSERT_EQ(verdict.sizes_size(), 2);
  EXPECT_EQ(verdict.sizes(1).size().at("n"), 96);
  EXPECT_EQ(verdict.pass_fraction(), 1);
  EXPECT_NE(verdict.isolation(), "");
  EXPECT_NE(verdict.worker(), "");
  EXPECT_EQ(verdict.canonical_hash().size(), 64u);
  EXPECT_EQ(verdict.object_hash().size(), 64u);
}

TEST_F(MeasureTest, AnIdNamesOneProgram) {
  Measure("taken", Matmul(""));
  const auto other = measurer_->Measure(Request("taken", Matmul("c[0] = 0;"), false));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
}

struct BadCase {
  const char* name;
  std::string source;
  v1::Outcome outcome;
  const char* detail;  // The verdict's detail holds this.
};

TEST_F(MeasureTest, WhatIsTooLargeIsRefused) {
  for (const auto& request : {Request("large", std::string((1 << 20) + 1, ' '), false),
                              Request(std::string(1025, 'x'), kMatmulIkj, false)})
    EXPECT_TRUE(
        absl::StrContains(measurer_->Measure(request).status().message(), "at most 1024 and"));
}

TEST_F(MeasureTest, EveryFailureIsAVerdict) {
  const std::vector<BadCase> cases = {
      {"empty", Matmul(""), v1::WRONG_ANSWER, "n=1: c[0] is"},
      {"nan", Matmul("for (int i = 0; i < n * n; ++i) c[i] = __builtin_nanf(\"\");"),
       v1::WRONG_ANSWER, "nan"},
      {"crash", Matmul("*(volatile int*)8 = 1;"), v1::CRASH, "SIGSEGV"},
      {"input", Matmul("const_cast<float*>(a)[0] = 1;"), v1::CRASH, "SIGSEGV"},
      {"hang", Matmul("for (volatile int i = 0;; i = 1) {}"), v1::TIMEOUT, "0.5"},
      {"hog", Matmul("std::vector<double> v(1u << 30, 1.0); c[0] = v[n];"), v1::MEMORY_LIMIT,
       "memory"},
      {"asm", Matmul("__asm__ volatile(\"nop\");"), v1::FORBIDDEN, "line 1: inline assembly"},
      {"header", "#include <thread>\n" + Matmul(""), v1::FORBIDDEN, "line 1: #include of 'thread'"},
      {"global", "static float* p = new float[9];\n" + Matmul("c[0] = p[0];"), v1::FORBIDDEN,
       "line 1: the variable p"},
      {"signature", "void matmul(const float* a, float* c, int n) {}\n", v1::NO_CODE,
       "must define exactly: void matmul(const float* a, const float* b, float* c, int n)"},
      {"static", "static " + Matmul(""), v1::NO_CODE, "static"},
      {"nothing", "int x;\n", v1::NO_CODE, "must define exactly"},
      {"error", Matmul("c[0] = y;"), v1::COMPILE_ERROR,
       "line 1: error: use of undeclared identifier 'y'"},
      {"text", "I am sorry, I cannot write this.", v1::COMPILE_ERROR, "line 1: error:"},
  };
  for (const BadCase& c : cases) {
    const v1::Verdict verdict = Measure(absl::StrCat("bad/", c.name), c.source, true);
    EXPECT_EQ(verdict.outcome(), c.outcome) << c.name << ": " << verdict.detail();
    EXPECT_TRUE(absl::StrContains(verdict.detail(), c.detail))
        << c.name << ": " << verdict.detail();
    EXPECT_FALSE(verdict.timed());
  }
  // The worker is as well as before.
  EXPECT_EQ(Measure("after", kMatmulIkj).outcome(), v1::CORRECT);
}

TEST_F(MeasureTest, HonestWhenCheckedWrongWhenTimed) {
  // A process that checks calls the timed size three times, and one that times calls it at least
  // four times.
  const v1::Verdict verdict = Measure(
      "call_counter",
      Matmul("static int calls = 0; if (n == 96 && ++calls > 3) return;"
             "for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) { float s = 0;"
             " for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; }"),
      true);
  EXPECT_EQ(verdict.outcome(), v1::WRONG_ANSWER) << verdict.detail();
}

TEST_F(MeasureTest, UnknownProblemsAreToldToPutThem) {
  v1::MeasureRequest request = Request("lost", kMatmulIjk, false);
  request.set_problem_hash("0123");
  EXPECT_EQ(measurer_->Measure(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

// Returns whether a candidate or reference of some worker on this machine computes.
bool AKernelRuns() {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const absl::StatusOr<std::string> name = ReadFile(process.path().string() + "/comm");
    if (name.ok() && *name == "whet-kernel\n") return true;
  }
  return false;
}

TEST_F(MeasureTest, CancelEndsWhatRuns) {
  std::vector<absl::Status> ends(4);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  std::vector<std::string> ids;
  for (size_t i = 0; i < ends.size(); ++i) ids.push_back(absl::StrCat("cancel/", i));
  for (size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&, i] {
      // Each runs until its limit, half a second, and is other machine code: none can have ended.
      const std::string source = Matmul(absl::StrCat("for (volatile int i = 0;; i = ", i, ") {}"));
      ends[i] = measurer_->Measure(Request(ids[i], source, true)).status();
      ++ended;
    });
  }
  EXPECT_TRUE(Eventually(AKernelRuns)) << "one is to run, the others wait for its slot or build";
  measurer_->Cancel({"never heard of"});
  // What has not begun yet, on a busy machine, is not known yet.
  EXPECT_TRUE(Eventually([&] {
    measurer_->Cancel(ids);
    return ended == static_cast<int>(ends.size());
  }));
  for (std::thread& thread : threads) thread.join();
  int cancelled = 0;
  for (const absl::Status& status : ends) cancelled += absl::IsCancelled(status) ? 1 : 0;
  EXPECT_GE(cancelled, 3) << "at most one could have ended before a late Cancel";
}

TEST_F(MeasureTest, ManyCallersShareOneMeasurement) {
  std::vector<std::thread> threads;
  std::vector<std::string> answers(3);
  for (size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] {
      answers[i] = Measure("shared", Matmul("for (int i = 0; i < n; ++i) c[i] = 3;"), true)
                       .SerializeAsString();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(answers[0], "");
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], answers[2]);
}

TEST_F(MeasureTest, UnsoundProblemsAreRefusedWithAReason) {
  struct Case {
    std::string part;
    void (*spoil)(v1::Problem*);
  };
  const std::vector<Case> cases = {
      {"does not compile", [](v1::Problem* p) { p->set_reference("void matmul( {"); }},
      {"does not define 'matmul'", [](v1::Problem* p) { p->set_reference("void other() {}"); }},
      {"WRONG_ANSWER",
       [](v1::Problem* p) {
         p->set_expert("void matmul(const float*, const float*, float*, int) {}");
       }},
      {"sizes.timed is empty", [](v1::Problem* p) { p->mutable_sizes()->clear_timed(); }},
      {"argument 'n'",
       [](v1::Problem* p) {
         p->set_signature("void matmul(const float* a, const float* b, float* c, float n)");
       }},
      {"limits.run_s", [](v1::Problem* p) { p->mutable_limits()->set_run_s(0); }},
      {"limits.compile_s", [](v1::Problem* p) { p->mutable_limits()->set_compile_s(1e-9); }},
      {"nohdr", [](v1::Problem* p) { p->mutable_compile()->add_headers("nohdr.h"); }},
      {"'../x.h' is not", [](v1::Problem* p) { p->mutable_compile()->add_headers("../x.h"); }},
      {"-fplugin=x.so", [](v1::Problem* p) { p->mutable_compile()->add_flags("-fplugin=x.so"); }},
      {"-Wl,-z", [](v1::Problem* p) { p->mutable_compile()->add_flags("-Wl,-z,execstack"); }},
      {"limits.memory_mb",
       [](v1::Problem* p) { p->mutable_limits()->set_memory_mb(int64_t{1} << 50); }},
  };
  for (const Case& c : cases) {
    v1::Problem problem = MatmulProblem();
    c.spoil(&problem);
    const auto calibration = measurer_->PutProblem(problem, nullptr);
    EXPECT_EQ(calibration.status().code(), absl::StatusCode::kInvalidArgument) << c.part;
    EXPECT_TRUE(absl::StrContains(calibration.status().message(), c.part))
        << c.part << ": " << calibration.status();
  }
}

TEST_F(MeasureTest, AKnownCalibrationIsTaken) {
  v1::Problem problem = TransposeProblem();
  v1::Calibration known;
  known.set_noise_band(0.0125);
  known.mutable_expert()->set_outcome(v1::CORRECT);
  known.mutable_expert()->set_speedup(3);
  const auto calibration = measurer_->PutProblem(problem, &known);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->noise_band(), 0.0125);
  EXPECT_EQ(calibration->expert().speedup(), 3);
}

TEST_F(MeasureTest, FasterThanTheHostCanBeIsSuspect) {
  v1::Problem problem = MatmulProblem();
  problem.mutable_cost()->set_flops("2000*n*n*n");  // This is a thousand times the truth.
  v1::Calibration known;
  known.mutable_expert()->set_outcome(v1::CORRECT);
  known.mutable_expert()->set_speedup(100);
  ASSERT_TRUE(measurer_->PutProblem(problem, &known).ok());
  v1::MeasureRequest request = Request("too_fast", kMatmulIkj, true);
  request.set_problem_hash(ProblemHash(problem));
  const auto verdict = measurer_->Measure(request);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome(), v1::SUSPECT) << verdict->detail();
  EXPECT_TRUE(verdict->doubted());
  EXPECT_TRUE(absl::StrContains(verdict->detail(), "than this host can be")) << verdict->detail();
}

TEST_F(MeasureTest, FarPastTheExpertIsMeasuredTwiceAndBelieved) {
  v1::Problem problem = MatmulProblem();
  problem.mutable_limits()->set_total_s(29);  // This makes it another problem by its hash.
  v1::Calibration known;
  known.mutable_expert()->set_outcome(v1::CORRECT);
  known.mutable_expert()->set_speedup(1.2);
  ASSERT_TRUE(measurer_->PutProblem(problem, &known).ok());
  v1::MeasureRequest request = Request("past_expert", kMatmulIkj, true);
  request.set_problem_hash(ProblemHash(problem));
  const auto verdict = measurer_->Measure(request);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome(), v1::CORRECT) << verdict->detail();
  EXPECT_TRUE(verdict->doubted());
  EXPECT_GT(verdict->speedup(), 2.0);
  EXPECT_TRUE(absl::StrContains(verdict->detail(), "far past the expert")) << verdict->detail();
}

// This calibration serves tests that do not depend on it: calibrating takes seconds.
const v1::Calibration kKnown = [] {
  v1::Calibration known;
  known.mutable_expert()->set_outcome(v1::CORRECT);
  known.mutable_expert()->set_speedup(2);
  known.set_noise_band(0.01);
  return known;
}();

// Returns `source` with one piece replaced.
std::string Edited(const std::string& source, const std::string& from, const std::string& to) {
  EXPECT_TRUE(absl::StrContains(source, from)) << from;
  return absl::StrReplaceAll(source, {{from, to}});
}

TEST_F(MeasureTest, GeneratorAndCheckerProblemsWork) {
  const v1::Problem problem = PartitionProblem();
  ASSERT_TRUE(measurer_->PutProblem(problem, &kKnown).ok());
  const auto measured = [&](const std::string& id, const std::string& source) {
    v1::MeasureRequest request = Request(id, source, true);
    request.set_problem_hash(ProblemHash(problem));
    const auto verdict = measurer_->Measure(request);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.value_or(v1::Verdict());
  };
  const v1::Verdict right = measured("partition/right", problem.expert());
  EXPECT_EQ(right.outcome(), v1::CORRECT) << right.detail();
  EXPECT_TRUE(right.timed());
  const v1::Verdict wrong =
      measured("partition/wrong", Edited(problem.expert(), "return below;", "return above;"));
  EXPECT_EQ(wrong.outcome(), v1::WRONG_ANSWER);
  EXPECT_TRUE(absl::StrContains(wrong.detail(), "checker refused")) << wrong.detail();
}

// Every value goes through 64 rounds of a hash, which is much work for one core and easily shared.
v1::Problem HashesProblem(int threads) {
  v1::Problem problem = TransposeProblem();  // Its rules and limits are used.
  problem.set_id("hashes");
  problem.set_signature("void hashes(const unsigned* in, unsigned* out, int n)");
  problem.clear_args();
  for (const char* name : {"in", "out"}) {
    v1::Argument* arg = problem.add_args();
    arg->set_name(name);
    arg->mutable_array()->set_type(v1::U32);
    arg->mutable_array()->add_shape("n");
    arg->mutable_array()->set_direction(*name == 'i' ? v1::Array::IN : v1::Array::OUT);
  }
  v1::Fill* fill = problem.mutable_args(0)->mutable_array()->mutable_fill();
  fill->set_kind(v1::Fill::UNIFORM);
  fill->add_parameters(0);
  fill->add_parameters(4294967295.0);
  problem.add_args()->set_name("n");
  problem.mutable_args(2)->set_size("n");
  problem.mutable_sizes()->Clear();
  for (const int n : {1, 5, 1001}) {
    (*problem.mutable_sizes()->add_check()->mutable_values())["n"] = n;
  }
  (*problem.mutable_sizes()->add_timed()->mutable_values())["n"] = 20000;
  (*problem.mutable_sizes()->add_hidden()->mutable_values())["n"] = 15000;
  problem.clear_cost();
  problem.mutable_compile()->add_headers("thread");
  problem.mutable_compile()->add_allow("threads");
  problem.mutable_compile()->set_threads(threads);
  const std::string part =
      "static void part(const unsigned* in, unsigned* out, int n) {\n"
      "  for (int i = 0; i < n; ++i) {\n    unsigned v = in[i];\n"
      "    for (int r = 0; r < 64; ++r) { v ^= v >> 15; v *= 0x2c1b3c6du; v ^= v << 7; }\n"
      "    out[i] = v;\n  }\n}\n"
      "void hashes(const unsigned* in, unsigned* out, int n) {\n";
  problem.set_reference(absl::StrCat(part, "  part(in, out, n);\n}\n"));
  problem.set_expert(
      absl::StrCat("#include <thread>\n", part,
                   "  int half = n / 2;\n  std::thread other(part, in, out, half);\n"
                   "  part(in + half, out + half, n - half);\n  other.join();\n}\n"));
  return problem;
}

// With three cores the timer has one of its own; with two it sleeps on one of the kernel's; with
// one the problem is refused.
TEST_F(MeasureTest, TwoThreadsAreMeasuredOnTwoCores) {
  const v1::WorkerInfo info = measurer_->Info();
  EXPECT_EQ(info.threads_apart_max(), info.threads_max() - 1);
  const v1::Problem problem = HashesProblem(2);
  const auto calibration = measurer_->PutProblem(problem, nullptr);
  if (info.threads_max() < 2) {
    EXPECT_EQ(calibration.status().code(), absl::StatusCode::kFailedPrecondition);
    GTEST_SKIP() << "one core: two threads are refused, as they should be";
  }
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  const v1::Verdict& expert = calibration->expert();
  EXPECT_EQ(expert.outcome(), v1::CORRECT) << expert.detail();
  EXPECT_GT(expert.speedup(), 1.3);
  EXPECT_LT(expert.speedup(), 2.3) << "two cores can't do more";
  v1::MeasureRequest request = Request("threads", problem.reference(), true);
  request.set_problem_hash(ProblemHash(problem));
  const auto verdict = measurer_->Measure(request);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_NEAR(verdict->speedup(), 1, 0.15) << verdict->detail();
  EXPECT_EQ(verdict->measured_on().kernel_cores_size(), 2);
  EXPECT_EQ(verdict->measured_on().timer_apart(), info.threads_apart_max() >= 2);
  EXPECT_NE(verdict->input_seed(), 0u);

  const auto refused = measurer_->PutProblem(HashesProblem(info.threads_max() + 1), nullptr);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "measure on a host of at least"))
      << refused.status();
  const auto known = measurer_->PutProblem(HashesProblem(info.threads_max() + 1), &*calibration);
  EXPECT_EQ(known.status(), refused.status()) << "an earlier calibration makes no cores";
}

TEST_F(MeasureTest, StructsAreFilledPassedReturnedAndCompared) {
  const v1::Problem problem = DriftProblem();
  ASSERT_TRUE(measurer_->PutProblem(problem, &kKnown).ok());

  const std::string& right = problem.reference();
  const std::string definition = "struct Body {\n  float x, y;\n  double mass;\n  int id;\n};\n";
  const struct {
    std::string source;
    v1::Outcome outcome;
    const char* detail;
  } kCases[] = {
      {right, v1::CORRECT, ""},
      {problem.expert(), v1::CORRECT, ""},
      {definition + right, v1::CORRECT, ""},  // A program may repeat what it was shown.
      {Edited(right, "to[i].id =", "reinterpret_cast<char*>(&to[i])[21] = 77; to[i].id ="),
       v1::CORRECT, ""},  // Padding is nobody's.
      {Edited(right, "to[i].mass = mass", "to[i].mass = mass + 1e-3"), v1::WRONG_ANSWER,
       "to[0].mass is "},
      {Edited(right, "to[i].id = from[i].id + step.by;", ""), v1::WRONG_ANSWER, "to[0].id is "},
      {Edited(right, "moved.count += inside;", ""), v1::WRONG_ANSWER,
       "the returned value[0].count is 0, expected"},
      {"struct Body { double x, y, mass; int id; };\n" + right, v1::COMPILE_ERROR,
       "redefinition of 'Body'"},
      {Edited(right, "Step step", "const Step& step"), v1::NO_CODE, "must define exactly"},
  };
  int number = 0;
  for (const auto& c : kCases) {
    const bool time = ++number == 1;
    v1::MeasureRequest request = Request(absl::StrCat("structs/", number), c.source, time);
    request.set_problem_hash(ProblemHash(problem));
    const auto verdict = measurer_->Measure(request);
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_EQ(verdict->outcome(), c.outcome) << verdict->detail() << c.source;
    EXPECT_TRUE(absl::StrContains(verdict->detail(), c.detail)) << verdict->detail();
    if (time) {
      EXPECT_NEAR(verdict->speedup(), 1, 0.15);
    }
  }
}

// A checker sees each struct as the function did, and the returned one.
TEST_F(MeasureTest, CheckersSeeStructs) {
  v1::Problem problem = DriftProblem();
  problem.clear_compare();
  problem.set_checker(R"cpp(
    bool check(const Body* from, const Body* to, const Bounds* bounds, Step step, int n,
               Moved returned) {
      int count = 0;
      for (int i = 0; i < n; ++i) {
        count += from[i].x + step.x < bounds->high;
        if (to[i].id != from[i].id + step.by || to[i].mass != from[i].mass) return false;
      }
      return returned.count == count && returned.mass >= count;
    }
  )cpp");
  ASSERT_TRUE(measurer_->PutProblem(problem, &kKnown).ok());
  const auto outcome = [&](const std::string& id, const std::string& source) {
    v1::MeasureRequest request = Request(id, source, false);
    request.set_problem_hash(ProblemHash(problem));
    const auto verdict = measurer_->Measure(request);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.ok() ? verdict->outcome() : v1::OUTCOME_UNSPECIFIED;
  };
  EXPECT_EQ(outcome("checked/right", problem.reference()), v1::CORRECT);
  EXPECT_EQ(outcome("checked/wrong", Edited(problem.reference(), "moved.count += inside;", "")),
            v1::WRONG_ANSWER);
}

TEST_F(MeasureTest, InfoTellsTheHost) {
  const v1::WorkerInfo info = measurer_->Info();
  EXPECT_NE(info.host_id(), "");
  EXPECT_GE(info.cores(), 1);
  EXPECT_GE(info.slots(), 1);
  EXPECT_GE(info.slot_cores_size(), 1);
  EXPECT_TRUE(absl::StrContains(info.compiler(), "g++")) << info.compiler();
  EXPECT_GT(info.noise_band(), 0);
}

}  // namespace
}  // namespace whetstone
