#include "tests/abuse/abuse_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/tree_testing.h"
#include "coordinator/prompt/prompt_file.h"
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

// A program may be measured so much faster than its twin: the ruler's own error.
constexpr double kGainAllowed = 1.02;
constexpr size_t kRepeatsMax = 5;
// The quantile of 99.99 % of Student's t, one-sided, for kRepeatsMax measurements.
constexpr double kStudent9999 = 13.03;

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Whether more measurements could show a gain.
bool MayBeAGain(const std::vector<double>& gains) { return Mean(gains) > std::log(kGainAllowed); }

// Whether the lower bound of 99.99 % of the gain, pooled, is beyond what is allowed. There are
// hundreds of comparisons a round: an interval of 95 % would cry wolf.
bool IsAGain(const std::vector<double>& gains) {
  if (gains.size() < kRepeatsMax) return false;
  double squares = 0;
  for (const double gain : gains) squares += (gain - Mean(gains)) * (gain - Mean(gains));
  const auto n = static_cast<double>(gains.size());
  const double error = std::sqrt(squares / (n - 1) / n);
  return Mean(gains) - kStudent9999 * error > std::log(kGainAllowed);
}

// A function over one array, timed at one size, where no expert is.
void SetScan(const std::string& signature, v1::ElementType type, double most,
             v1::ElementType returned, int timed, const std::string& reference,
             v1::Problem* problem) {
  problem->set_id(absl::StrCat("abuse_", timed));
  problem->set_signature(signature);
  problem->clear_args();
  v1::Argument* data = problem->add_args();
  data->set_name("data");
  data->mutable_array()->set_type(type);
  data->mutable_array()->add_shape("n");
  data->mutable_array()->mutable_fill()->set_kind(v1::Fill::UNIFORM);
  for (const double bound : {0.0, most})
    data->mutable_array()->mutable_fill()->add_parameters(bound);
  v1::Argument* n = problem->add_args();
  n->set_name("n");
  n->set_size("n");
  problem->mutable_returns()->set_type(returned);
  problem->mutable_sizes()->Clear();
  const auto set = [](v1::SizePoint* point, int value) { (*point->mutable_values())["n"] = value; };
  for (const int size : {1, 7, 100}) set(problem->mutable_sizes()->add_check(), size);
  set(problem->mutable_sizes()->add_timed(), timed);
  set(problem->mutable_sizes()->add_hidden(), timed - 77);
  problem->mutable_compare()->set_rule(v1::Compare::EXACT);
  problem->mutable_cost()->set_flops("");
  problem->mutable_cost()->set_bytes("n");
  problem->set_reference(reference);
  problem->clear_expert();
}

}  // namespace

v1::Problem AbuseProblem(const std::string& name) {
  v1::Problem problem = MatmulProblem();
  problem.mutable_limits()->set_compile_s(2.5);
  problem.mutable_limits()->set_run_s(0.3);
  if (name.empty()) {
    problem.mutable_sizes()->mutable_timed()->DeleteSubrange(1, 1);
  } else if (name == "slow") {
    problem.mutable_limits()->set_total_s(2);
  } else if (name == "threads") {
    problem.mutable_compile()->set_threads(2);
    problem.mutable_compile()->add_allow("threads");
    for (const char* header : {"condition_variable", "mutex", "thread"})
      problem.mutable_compile()->add_headers(header);
    (*problem.mutable_sizes()->mutable_timed(0)->mutable_values())["n"] = 128;
  } else if (name == "chain") {
    SetScan("unsigned chain(const unsigned char* data, long n)", v1::U8, 255, v1::U32, 1000,
            R"(unsigned chain(const unsigned char* data, long n) {
  unsigned hash = 2166136261u;
  for (long i = 0; i < n; ++i) hash = (hash ^ data[i]) * 16777619u;
  return hash;
})",
            &problem);
  } else if (name == "huge") {
    SetScan("unsigned total(const unsigned* data, long n)", v1::U32, 65535, v1::U32, 9 << 20,
            R"(unsigned total(const unsigned* data, long n) {
  unsigned sum = 0;
  for (volatile long i = 0; i < n; i = i + 1) sum += data[i];
  return sum;
})",
            &problem);
  } else {
    absl::StatusOr<v1::Problem> parsed =
        ParsePromptFile(absl::StrCat(SourceDir(), "/prompts/", name, ".md"));
    if (!parsed.ok()) {
      std::fprintf(stderr, "%s\n", parsed.status().ToString().c_str());
      std::abort();
    }
    problem = *std::move(parsed);
    problem.mutable_limits()->set_run_s(0.3);
  }
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
  slot = *std::move(measurer);
  // As many processes at once as there ever are, a generator among them: their control groups are
  // kept, and are nothing that a program left.
  constexpr char kWithGenerator[] = "count_distinct_u32";
  Measure(slot.get(), AbuseProblem(kWithGenerator).expert(), "", Path::kPrecise, kWithGenerator);
  return slot.get();
}

std::string Workers::Put(Measurer* measurer, const std::string& problem) {
  std::string& hash = put_[{measurer, problem}];
  if (!hash.empty()) return hash;
  const v1::Problem made = AbuseProblem(problem);
  v1::Calibration& known = calibrations_[problem];
  // Calibrating takes seconds; the expert of one problem is enough.
  if (!problem.empty()) {
    known.mutable_expert()->set_outcome(v1::CORRECT);
    known.mutable_expert()->set_speedup(1000);
    known.set_noise_band(0.01);
    known.set_unix_time(1);
  }
  const absl::StatusOr<v1::Calibration> calibration =
      measurer->PutProblem(made, known.unix_time() > 0 ? &known : nullptr);
  EXPECT_TRUE(calibration.ok()) << problem << ": " << calibration.status();
  if (calibration.ok()) known = *calibration;
  return hash = ProblemHash(made);
}

v1::Verdict Workers::Measure(Measurer* measurer, const std::string& source, std::string id,
                             Path path, const std::string& problem) {
  if (id.empty()) id = absl::StrCat("abuse/", ++candidates_);
  v1::MeasureRequest request;
  request.set_problem_hash(Put(measurer, problem));
  request.set_candidate_id(id);
  request.set_source(source);
  request.set_time(true);
  request.set_fresh(path == Path::kPrecise);
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

v1::Verdict ExpectGetsNothing(const HostileProgram& program, bool screened, Path path) {
  Measurer* measurer = Workers::Get().Of(screened);
  int repeats = 0;
  const auto measure = [&](std::string source) {
    // Equal code would be answered from the cache: each repeat has a constant of its own.
    if (++repeats > 1)
      absl::StrAppend(&source, "\nextern const int kRepeat", repeats, ";\nconst int kRepeat",
                      repeats, " = ", repeats, ";\n");
    return Workers::Get().Measure(measurer, source, "", path, program.problem);
  };
  const v1::Verdict verdict = measure(program.source);
  const std::set<v1::Outcome>& allowed = screened ? program.screened : program.expect;
  EXPECT_EQ(allowed.count(verdict.outcome()), 1u)
      << program.what << ": " << v1::Outcome_Name(verdict.outcome()) << ", " << verdict.detail();
  if (verdict.outcome() == v1::CORRECT &&
      (!program.twin.empty() || verdict.speedup_low() > kGainAllowed)) {
    // What a program can do at will it can do five times.
    std::vector<double> gains;
    for (v1::Verdict own = verdict;;) {
      if (own.outcome() != v1::CORRECT) break;
      double twin_speedup = 1;
      if (!program.twin.empty()) {
        const v1::Verdict twin = measure(program.twin);
        twin_speedup = twin.speedup();
        EXPECT_GT(twin_speedup, 0)
            << "the twin: " << v1::Outcome_Name(twin.outcome()) << ", " << twin.detail();
        if (!(twin_speedup > 0)) return verdict;
      }
      gains.push_back(std::log(own.speedup() / twin_speedup));
      if (!MayBeAGain(gains) || gains.size() == kRepeatsMax) break;
      own = measure(program.source);
    }
    EXPECT_FALSE(IsAGain(gains)) << program.what << ": as fast as its twin times "
                                 << absl::StrJoin(gains, ", ", [](std::string* out, double gain) {
                                      absl::StrAppend(out, std::exp(gain));
                                    });
  }
  // What a program had a hand in may neither steer a terminal nor fail to be sent.
  EXPECT_EQ(verdict.detail(), Printable(verdict.detail()));
  // A secret must not come back through diagnostics either.
  EXPECT_THAT(verdict.detail(), Not(HasSubstr("root:")));
  return verdict;
}

int64_t CountIn(const std::string& folder) {
  std::error_code gone;
  return std::distance(std::filesystem::directory_iterator(folder, gone), {});
}

int64_t CountBelow(const std::string& folder) {
  std::error_code gone;
  return std::distance(std::filesystem::recursive_directory_iterator(folder, gone), {});
}

std::string HostState() {
  std::string state = absl::StrCat(
      "mounts ", HostMounts(), "\nshadow ", ReadFile("/etc/shadow").value_or("unreadable"),
      "\nleft behind ", std::filesystem::exists(kLeftBehind), "\nchildren ", ChildCount(),
      "\ndescriptors ", CountIn("/proc/self/fd"), "\nshared memory ",
      std::filesystem::exists("/dev/shm/whetstone-abuse-left"));
  for (const char* kind : {"shm", "sem", "msg"}) {
    absl::StrAppend(&state, "\n", kind, " ",
                    ReadFile(absl::StrCat("/proc/sysvipc/", kind)).value_or("?"));
  }
  return state;
}

}  // namespace whetstone
