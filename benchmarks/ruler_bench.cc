// Prints the table of the ruler: how fast, how exact and how steady verdicts are on this machine.
//
//   ruler_bench                         all parts, some twenty minutes
//   ruler_bench latency rate            some of them
//   ruler_bench memory --candidates 10000
//
// Every row is measured here and now; ratios are of two things measured in this run.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "benchmarks/bar_table.h"
#include "benchmarks/plain_pipeline.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/durable/code_extractor.h"
#include "coordinator/prompt/prompt_file.h"
#include "cpu_bench_worker/host/slot_pool.h"
#include "cpu_bench_worker/measure/measure.h"
#include "cpu_bench_worker/measure/worker_bench.h"
#include "cpu_bench_worker/problem/small_kernel.h"
#include "cpu_bench_worker/stats/statistics.h"
#include "cpu_bench_worker/timing/timing_replay.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Options {
  std::vector<std::string> parts;
  std::string source_dir = ".";
  int repeats = 30;
  int runs = 200;
  int candidates = 10'000;
};

absl::StatusOr<std::unique_ptr<Measurer>> OneSlot(const std::vector<int>& cores) {
  MeasurerOptions options;
  options.cores = cores;
  options.slots = 1;
  return Measurer::Create(options);
}

v1::MeasureRequest Request(const v1::Problem& problem, const std::string& source, bool fresh) {
  static int number = 0;
  v1::MeasureRequest request;
  request.set_problem_hash(ProblemHash(problem));
  request.set_candidate_id(absl::StrCat("ruler/", getpid(), "/", ++number));
  request.set_source(source);
  request.set_time(true);
  request.set_fresh(fresh);
  return request;
}

absl::Status Latency(Measurer* measurer, const Options& options, BarTable* table) {
  ASSIGN_OR_RETURN(const std::vector<BenchKind> kinds, BenchVerdicts(measurer, options.repeats));
  std::cerr << BenchTable(kinds);
  const double bars_ms[] = {450, 180, 150, 150};
  const char* names[] = {"verdict, full statistics, p50", "… stopped early, p50",
                         "… wrong answer, p50", "… does not compile, p50"};
  for (size_t i = 0; i < kinds.size(); ++i)
    table->Add(names[i], 1e3 * kinds[i].Quantile(0.5), "%.0f ms", bars_ms[i], false);
  return absl::OkStatus();
}

absl::Status Rate(Measurer* measurer, const Options& options, BarTable* table) {
  ASSIGN_OR_RETURN(const v1::Problem problem,
                   ParsePromptFile(options.source_dir + "/prompts/matmul_f32.md"));
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(options.source_dir + "/benchmarks/quickstart_completions.json"));
  const nlohmann::json json = nlohmann::json::parse(text);
  std::vector<std::string> completions;
  for (const auto& index : json.at("order"))
    completions.push_back(json.at("texts").at(index.get<size_t>()).get<std::string>());
  RETURN_IF_ERROR(measurer->PutProblem(problem, nullptr).status());

  // A completion without code is not measured: the coordinator does the same.
  int64_t calls = 0;
  int timed = 0;
  int measured = 0;
  auto begin = Clock::now();
  for (const std::string& completion : completions) {
    const auto code = ExtractCode(completion, "");
    if (!code.has_value()) continue;
    ASSIGN_OR_RETURN(const v1::Verdict verdict,
                     measurer->Measure(Request(problem, *code, /*fresh=*/false)));
    measured += verdict.cached() ? 0 : 1;
    if (verdict.cached() || verdict.outcome() != v1::CORRECT) continue;
    for (const v1::SizeResult& size : verdict.sizes()) calls += size.calls();
    timed += verdict.sizes_size();
  }
  const double ours = static_cast<double>(completions.size()) / SecondsSince(begin);
  const int per_size = static_cast<int>(calls / std::max(1, timed));

  // Every fourth completion serves: duplicates and failures have the same shares among them.
  ASSIGN_OR_RETURN(const PlainPipeline plain, PlainPipeline::Create(problem));
  constexpr size_t kStride = 4;
  size_t done = 0;
  begin = Clock::now();
  for (size_t i = 0; i < completions.size(); i += kStride, ++done)
    if (const auto code = ExtractCode(completions[i], ""))
      RETURN_IF_ERROR(plain.Evaluate(*code, per_size).status());
  const double theirs = static_cast<double>(done) / SecondsSince(begin);
  table->Note("quickstart's completions that were measured",
              absl::StrFormat("%d of %d", measured, completions.size()));
  table->Add("candidates a second", ours, "%.1f", 35, true);
  table->Note("… a plain pipeline", absl::StrFormat("%.1f", theirs));
  table->Add("… ratio", ours / theirs, "%.1f", 4, true);
  return absl::OkStatus();
}

// Measures the reference against itself; 95 % of `repeats` are within what it returns.
absl::StatusOr<double> AaThreshold(Measurer* measurer, int repeats) {
  const v1::Problem problem = SmallKernelProblem();
  RETURN_IF_ERROR(measurer->PutProblem(problem, nullptr).status());
  std::vector<double> off;
  for (int i = 0; i < repeats; ++i) {
    ASSIGN_OR_RETURN(const v1::Verdict verdict,
                     measurer->Measure(Request(problem, problem.reference(), /*fresh=*/true)));
    if (verdict.outcome() != v1::CORRECT) return absl::InternalError(verdict.detail());
    off.push_back(std::fabs(std::log(verdict.speedup())));
  }
  return Quantile(off, 0.95);
}

// BusyCore keeps `core` busy while it lives.
class BusyCore {
 public:
  explicit BusyCore(int core) {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(core), &set);
    sched_setaffinity(0, sizeof set, &set);
    for (std::atomic<uint64_t> spins{0};; spins.fetch_add(1, std::memory_order_relaxed)) {
    }
  }
  ~BusyCore() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  BusyCore(const BusyCore&) = delete;
  BusyCore& operator=(const BusyCore&) = delete;

 private:
  pid_t pid_ = -1;
};

absl::Status AaThresholds(Measurer* measurer, const Options& options, BarTable* table) {
  const int repeats = 2 * options.repeats;
  ASSIGN_OR_RETURN(const double idle, AaThreshold(measurer, repeats));
  table->Add("A/A threshold, 95 % of repeats, idle", 100 * idle, "%.2f %%", 0.7, false);
  const BusyCore busy(measurer->Info().slot_cores(0));
  ASSIGN_OR_RETURN(const double disturbed, AaThreshold(measurer, repeats));
  table->Add("… the other core busy", 100 * disturbed, "%.2f %%", 1, false);
  return absl::OkStatus();
}

absl::Status Replays(const Options& options, BarTable* table) {
  constexpr double kAaThreshold = 0.005;
  constexpr int kTrials = 1000;
  for (const auto& [name, bar] : {std::pair("faster", 95.0), {"equal", 2.0}})
    for (const char* kind : {"compute", "memory"}) {
      ASSIGN_OR_RETURN(
          const std::string bytes,
          ReadFile(absl::StrCat(options.source_dir, "/cpu_bench_worker/timing/testdata/", name, "_",
                                kind, ".timings")));
      ASSIGN_OR_RETURN(const RecordedTimings recorded, DecodeTimings(bytes));
      const ReplayRates rates = ReplayTimings(recorded, 1, kAaThreshold, kTrials);
      const bool faster = absl::string_view(name) == "faster";
      table->Add(absl::StrCat("truly ", faster ? "2 % faster" : "equal", " called faster, ", kind),
                 100 * rates.called_faster, "%.1f %%", bar, faster);
    }
  return absl::OkStatus();
}

// Measures the same program each time, until it is precise.
absl::StatusOr<double> Speedup(Measurer* measurer) {
  const v1::Problem problem = SmallKernelProblem();
  RETURN_IF_ERROR(measurer->PutProblem(problem, nullptr).status());
  ASSIGN_OR_RETURN(const v1::Verdict verdict,
                   measurer->Measure(Request(problem, problem.expert(), /*fresh=*/true)));
  if (verdict.outcome() != v1::CORRECT) return absl::InternalError(verdict.detail());
  return verdict.speedup();
}

absl::Status Same(Measurer* measurer, double before, BarTable* table) {
  const auto percent = [&](double speedup) { return 100 * std::fabs(std::log(speedup / before)); };
  const std::vector<int> cores = AllowedCores();
  ASSIGN_OR_RETURN(const double later, Speedup(measurer));
  if (cores.size() > 1) {
    ASSIGN_OR_RETURN(const auto swapped, OneSlot({cores.rbegin(), cores.rend()}));
    ASSIGN_OR_RETURN(const double other, Speedup(swapped.get()));
    table->Add("the same candidate on another slot", percent(other), "%.2f %%", 1.5, false);
  }
  ASSIGN_OR_RETURN(const auto restarted, OneSlot({}));
  ASSIGN_OR_RETURN(const double again, Speedup(restarted.get()));
  table->Add("… after a restart", percent(again), "%.2f %%", 1.5, false);
  table->Add("… at the end of this run", percent(later), "%.2f %%", 1.5, false);
  return absl::OkStatus();
}

// Repeated are many precise measurements of the same program.
struct Repeated {
  double off = 0;           // 95 % of them are within this of their long-run value (relative).
  double covered = 0;       // This share of their intervals of 95 % holds it.
  double aa_threshold = 0;  // the median of theirs
};

// `known`: the long-run value, where it is known; else the median, as some are measured beside a
// neighbour.
absl::StatusOr<Repeated> Repeat(Measurer* measurer, const v1::Problem& problem,
                                const std::string& source, int runs, std::optional<double> known) {
  RETURN_IF_ERROR(measurer->PutProblem(problem, nullptr).status());
  std::vector<v1::Verdict> verdicts;
  std::vector<double> speedups;
  for (int i = 0; i < runs; ++i) {
    ASSIGN_OR_RETURN(v1::Verdict verdict,
                     measurer->Measure(Request(problem, source, /*fresh=*/true)));
    if (verdict.outcome() != v1::CORRECT) return absl::InternalError(verdict.detail());
    speedups.push_back(verdict.speedup());
    verdicts.push_back(std::move(verdict));
    if ((i + 1) % 50 == 0) BarTable::Say(absl::StrCat(i + 1, " of ", runs, " measurements"));
  }
  const double truth = known.value_or(Median(speedups));
  Repeated repeated;
  int covered = 0;
  std::vector<double> off, thresholds;
  for (const v1::Verdict& verdict : verdicts) {
    thresholds.push_back(verdict.noise_band());
    off.push_back(std::fabs(std::log(verdict.speedup() / truth)));
    covered += verdict.speedup_low() <= truth && truth <= verdict.speedup_high() ? 1 : 0;
  }
  repeated.off = Quantile(off, 0.95);
  repeated.aa_threshold = Median(thresholds);
  repeated.covered = static_cast<double>(covered) / runs;
  return repeated;
}

absl::Status Repeats(Measurer* measurer, const Options& options, BarTable* table) {
  const v1::Problem problem = SmallKernelProblem();
  ASSIGN_OR_RETURN(const Repeated equal,
                   Repeat(measurer, problem, problem.reference(), options.runs, /*known=*/1));
  table->Add("equal code measured again, 95 % of runs", 100 * equal.off, "%.2f %%", 0.2, false);
  table->AddBetween("… intervals of 95 % that hold 1", 100 * equal.covered, "%.0f %%", 91, 98);
  ASSIGN_OR_RETURN(const v1::Problem cached,
                   ParsePromptFile(options.source_dir + "/prompts/matmul_f32.md"));
  ASSIGN_OR_RETURN(const Repeated caches,
                   Repeat(measurer, cached, cached.expert(), options.runs / 4, std::nullopt));
  table->Add("a product that waits for its caches, 95 % of runs", 100 * caches.off, "%.2f %%", 1.5,
             false);
  table->AddBetween("… intervals of 95 % that hold the median", 100 * caches.covered, "%.0f %%", 91,
                    98);
  ASSIGN_OR_RETURN(const Repeated far,
                   Repeat(measurer, problem, problem.expert(), options.runs, std::nullopt));
  table->Add("the expert measured again, 95 % of runs", 100 * far.off, "%.2f %%", 1.5, false);
  table->AddBetween("… intervals of 95 % that hold the median", 100 * far.covered, "%.0f %%", 91,
                    98);
  table->Note("… their A/A threshold", absl::StrFormat("%.2f %%", 100 * far.aa_threshold));
  const BusyCore busy(measurer->Info().slot_cores(0));
  ASSIGN_OR_RETURN(const Repeated disturbed,
                   Repeat(measurer, problem, problem.expert(), options.runs / 4, std::nullopt));
  table->Add("… the other core busy, 95 % of runs", 100 * disturbed.off, "%.2f %%", 3, false);
  return absl::OkStatus();
}

double ResidentMiB() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// A policy repeats itself, and compiling ten thousand programs takes half an hour: every fiftieth
// candidate is new to the worker, and half of those are right, and timed. But of the first 30 %
// three of four are new, and one in twenty of those is timed. So at the first look, half way, all
// is full that the worker keeps: the verdicts of 2,048 programs, of 2,048 candidates, and 8 MiB of
// objects.
absl::Status Memory(Measurer* measurer, const Options& options, BarTable* table) {
  const v1::Problem problem = SmallKernelProblem();
  RETURN_IF_ERROR(measurer->PutProblem(problem, nullptr).status());
  const int fill = options.candidates * 3 / 10;
  const int look = options.candidates / 2;
  double early = 0;
  int programs = 0;
  for (int i = 0; i < options.candidates; ++i) {
    if (i < fill ? i % 4 != 0 : i % 50 == 0) ++programs;
    const std::string base = programs % (i < fill ? 20 : 2) == 0
                                 ? problem.expert()
                                 : "void matmul(const float* a, const float*, float* c, int n) { }";
    const auto verdict = measurer->Measure(Request(problem, Variant(base, programs), false));
    RETURN_IF_ERROR(verdict.status());
    if (verdict->outcome() != v1::CORRECT && verdict->outcome() != v1::WRONG_ANSWER)
      return absl::InternalError(verdict->detail());
    if (i == look) early = ResidentMiB();
  }
  const double late = ResidentMiB();
  table->Note(absl::StrCat("worker memory after ", look, " candidates"),
              absl::StrFormat("%.1f MiB", early));
  table->Note(absl::StrCat("… after ", options.candidates), absl::StrFormat("%.1f MiB", late));
  table->Add("… growth in between", 100 * (late / early - 1), "%.1f %%", 2, false);
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  BarTable table;
  const std::set<std::string> wanted(options.parts.begin(), options.parts.end());
  const auto asked = [&](const char* part) { return wanted.empty() || wanted.count(part) > 0; };
  ASSIGN_OR_RETURN(const auto measurer, OneSlot({}));
  double before = 0;
  if (asked("same")) {
    ASSIGN_OR_RETURN(before, Speedup(measurer.get()));
  }
  if (asked("latency")) RETURN_IF_ERROR(Latency(measurer.get(), options, &table));
  if (asked("rate")) RETURN_IF_ERROR(Rate(measurer.get(), options, &table));
  if (asked("band")) RETURN_IF_ERROR(AaThresholds(measurer.get(), options, &table));
  if (asked("repeat")) RETURN_IF_ERROR(Repeats(measurer.get(), options, &table));
  if (asked("replay")) RETURN_IF_ERROR(Replays(options, &table));
  if (asked("memory")) RETURN_IF_ERROR(Memory(measurer.get(), options, &table));
  if (asked("same")) RETURN_IF_ERROR(Same(measurer.get(), before, &table));
  table.Print();
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  CLI::App app("Measures the ruler: latency, rate, noise, error rates, steadiness, memory.");
  whetstone::Options options;
  app.add_option("parts", options.parts,
                 "latency, rate, band, repeat, replay, memory, same; default: all")
      ->check(CLI::IsMember({"latency", "rate", "band", "repeat", "replay", "memory", "same"}));
  app.add_option("--source-dir", options.source_dir, "The repository's root");
  app.add_option("--repeats", options.repeats, "Candidates of each kind; twice as many for bands")
      ->check(CLI::PositiveNumber);
  app.add_option("--runs", options.runs, "Measurements of each program, for repeat")
      ->check(CLI::Range(4, 100000));
  app.add_option("--candidates", options.candidates, "For memory")->check(CLI::Range(100, 1000000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(options);
  if (!status.ok()) std::cerr << "ruler_bench: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
