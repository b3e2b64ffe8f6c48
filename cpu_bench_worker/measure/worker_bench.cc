#include "cpu_bench_worker/measure/worker_bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/problem/small_kernel.h"
#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {
namespace {

constexpr char kWrong[] = R"cpp(
  void matmul(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n * n; ++i) c[i] = a[i] * b[i];
  }
)cpp";

constexpr char kBroken[] = R"cpp(
  void matmul(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n * n; ++i) c[i] = a[i] * d[i];
  }
)cpp";

}  // namespace

std::string Variant(const std::string& source, int number) {
  const size_t body = source.find('{') + 1;
  return absl::StrCat(source.substr(0, body), " if (n == ", -2 - number, ") { c[0] = 1; return; }",
                      source.substr(body));
}

double BenchKind::Quantile(double q) const { return whetstone::Quantile(seconds, q); }

double BenchKind::MedianOf(double (v1::Verdict::*phase)() const) const {
  std::vector<double> values;
  for (const v1::Verdict& verdict : verdicts) values.push_back((verdict.*phase)());
  return Median(std::move(values));
}

absl::StatusOr<std::vector<BenchKind>> BenchVerdicts(Measurer* measurer, int repeats) {
  const v1::Problem problem = SmallKernelProblem();
  RETURN_IF_ERROR(measurer->PutProblem(problem, nullptr).status());
  std::vector<BenchKind> kinds = {
      {"equal",
       "full statistics: as fast as the reference",
       problem.reference(),
       v1::CORRECT,
       {},
       {}},
      {"faster", "stopped early: several times faster", problem.expert(), v1::CORRECT, {}, {}},
      {"wrong", "compiles, and computes something else", kWrong, v1::WRONG_ANSWER, {}, {}},
      {"broken", "does not compile", kBroken, v1::COMPILE_ERROR, {}, {}}};
  v1::MeasureRequest request;
  request.set_problem_hash(ProblemHash(problem));
  request.set_time(true);
  for (int i = 0; i < repeats; ++i) {
    for (BenchKind& kind : kinds) {
      request.set_candidate_id(absl::StrCat("bench/", getpid(), "/", kind.name, "/", i));
      request.set_source(Variant(kind.source, i));
      const auto begin = std::chrono::steady_clock::now();
      ASSIGN_OR_RETURN(v1::Verdict verdict, measurer->Measure(request));
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      if (verdict.outcome() != kind.outcome)
        return absl::InternalError(absl::StrCat("the ", kind.name, " candidate is ",
                                                v1::Outcome_Name(verdict.outcome()), ": ",
                                                verdict.detail()));
      kind.seconds.push_back(elapsed.count());
      kind.verdicts.push_back(std::move(verdict));
    }
  }
  return kinds;
}

std::string BenchTable(const std::vector<BenchKind>& kinds) {
  std::string text =
      absl::StrFormat("%-10s %8s %8s | %8s %8s %8s %8s | %8s %8s %8s %6s\n", "ms", "p50", "p90",
                      "screen", "compile", "check", "time", "start", "invoke", "judge", "pairs");
  for (const BenchKind& kind : kinds) {
    const double time = kind.MedianOf(&v1::Verdict::time_s);
    const double start = kind.MedianOf(&v1::Verdict::start_s);
    const double invocations = kind.MedianOf(&v1::Verdict::invocations_s);
    std::vector<double> pairs;
    for (const v1::Verdict& verdict : kind.verdicts) pairs.push_back(verdict.process_pairs());
    absl::StrAppendFormat(
        &text, "%-10s %8.1f %8.1f | %8.1f %8.1f %8.1f %8.1f | %8.1f %8.1f %8.1f %6.0f\n", kind.name,
        1e3 * kind.Quantile(0.5), 1e3 * kind.Quantile(0.9),
        1e3 * kind.MedianOf(&v1::Verdict::screen_s), 1e3 * kind.MedianOf(&v1::Verdict::compile_s),
        1e3 * kind.MedianOf(&v1::Verdict::check_s), 1e3 * time, 1e3 * start, 1e3 * invocations,
        1e3 * std::max(0.0, time - start - invocations), Median(std::move(pairs)));
  }
  absl::StrAppend(&text, "\n");
  for (const BenchKind& kind : kinds)
    absl::StrAppendFormat(&text, "%-10s %s\n", kind.name, kind.what);
  absl::StrAppend(
      &text,
      "time = start (fresh process pairs) + invoke (writing inputs, computing, sleeping) "
      "+ judge (filling, comparing, statistics)\n");
  return text;
}

}  // namespace whetstone
