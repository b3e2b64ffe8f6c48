// How long a long run takes to open: writes a journal of so many rollouts through the real writer,
// and times what reads it from the command line.
//
//   build/release/bin/journal_bench --rollouts 1000000
//   build/release/bin/journal_bench --set search.parents=0.5 --set search.archive=1000
//
// The run is finished, so that `whet resume` ends where it would start its services. Prints JSON:
// seconds of each command, the median of three (the file is in the page cache), the most resident
// memory that one of them had, and bytes of journal.db a rollout; of a campaign that searches also
// the programs of its archive and the milliseconds that the choice of a parent takes.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/request_builders.h"
#include "coordinator/durable/search_archive.h"
#include "coordinator/durable/step_row.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/open_run.h"

namespace whetstone {
namespace {

constexpr int kGroups = 8;
constexpr int kGroupSize = 16;

struct Flags {
  int64_t rollouts = 1'000'000;
  int tokens = 200;  // of a completion
  std::string run_dir;
  std::vector<std::string> sets;
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A run as its first seconds would have made it, and its plan.
absl::StatusOr<OpenedRun> MakeRun(const Flags& flags, const RunPaths& paths) {
  const int64_t steps = std::max<int64_t>(1, flags.rollouts / (kGroups * kGroupSize));
  std::vector<std::string> sets = {absl::StrCat("train.steps=", steps),
                                   absl::StrCat("train.prompts_per_step=", kGroups),
                                   absl::StrCat("train.group_size=", kGroupSize)};
  sets.insert(sets.end(), flags.sets.begin(), flags.sets.end());
  ASSIGN_OR_RETURN(const v1::Campaign campaign,
                   ParseCampaign(absl::StrCat("name: bench\nmodel: /model\nproblems: [",
                                              SourceDir(), "/prompts/matmul_f32.md]\n"),
                                 "bench", "/", sets));
  RETURN_IF_ERROR(MakeDirectories(paths.root()));
  RETURN_IF_ERROR(Journal::Create(paths.journal(), NewCampaignId("bench")).status());
  RETURN_IF_ERROR(FreezeCampaign(campaign, paths));
  return OpenRun(paths, /*read_only=*/false);
}

// What a trainer and a worker would have answered.
class Answers {
 public:
  explicit Answers(const Flags& flags) : flags_(flags) {}

  PromptEntry Prompt(int64_t step, int group) const {
    PromptEntry entry{step, {}};
    entry.prompt.set_group_index(group);
    for (int i = 0; i < 400; ++i) entry.prompt.add_ids(i * 100);
    return entry;
  }
  RolloutEntry Rollout(int64_t step, int group, int sample) {
    RolloutEntry entry{step, {}};
    v1::Completion& completion = entry.completion;
    completion.set_group_index(group);
    completion.set_sample(sample);
    completion.set_finish(v1::Completion::STOP);
    std::string text = absl::StrCat("```cpp\n// ", step, "/", group, "/", sample, "\n");
    for (int i = 0; i < flags_.tokens; ++i) {
      completion.add_ids(static_cast<int>(random_() % 49152));
      completion.add_sampling_logprobs(-static_cast<float>(random_() % 4096) / 1024);
      text += "c[i]";
    }
    completion.set_text(text + "\n```\n");
    return entry;
  }
  VerdictEntry Verdict(const CampaignPlan& plan, int64_t step, int group, int sample) {
    VerdictEntry entry{step, group, sample, {}, 0, false};
    v1::Verdict& verdict = entry.verdict;
    verdict.set_candidate_id(plan.CandidateId(step, group, sample));
    verdict.set_problem_hash(plan.problems[0].hash);
    verdict.set_canonical_hash(absl::StrCat(verdict.candidate_id(), std::string(40, 'c')));
    verdict.set_object_hash(std::string(64, 'a'));
    verdict.set_worker("bench");
    verdict.set_isolation("userns,mount,pid,net,ipc,uts,seccomp,landlock:7,rlimits");
    verdict.mutable_measured_on()->set_cpu_model("a processor with a long name");
    verdict.mutable_measured_on()->set_compiler("g++ (Debian 12.2.0-14) 12.2.0");
    if (random_() % 3 == 0) {
      verdict.set_outcome(v1::COMPILE_ERROR);
      verdict.set_detail("candidate.cc:3:5: error: 'c' was not declared in this scope");
      entry.reward = -0.5;
      return entry;
    }
    verdict.set_outcome(v1::CORRECT);
    verdict.set_timed(true);
    verdict.set_speedup(1 + static_cast<double>(random_() % 1000) / 500);
    verdict.set_speedup_low(verdict.speedup() * 0.99);
    verdict.set_speedup_high(verdict.speedup() * 1.01);
    verdict.set_process_pairs(16);
    for (const int64_t n : {64, 96, 128}) {
      v1::SizeResult* size = verdict.add_sizes();
      (*size->mutable_size())["n"] = n;
      size->set_speedup(verdict.speedup());
      size->set_reference_ns(1000);
      size->set_candidate_ns(1000 / verdict.speedup());
      size->set_pairs(128);
    }
    entry.reward = verdict.speedup() - 1;
    return entry;
  }
  v1::UpdateResponse Response(const v1::UpdateName& name) const {
    v1::UpdateResponse response;
    *response.mutable_name() = name;
    response.set_applied(true);
    for (const char* metric : {"loss", "grad_norm", "entropy", "kl", "clip_ratio/low_mean",
                               "clip_ratio/high_mean", "perf/tokens_per_s", "perf/ranks"}) {
      (*response.mutable_metrics())[metric] = 1;
    }
    return response;
  }

 private:
  const Flags flags_;
  std::mt19937 random_{1};
};

// The whole campaign, step by step. Returns the archive that it ends with.
absl::StatusOr<SearchArchive> Write(const Flags& flags, const CampaignPlan& plan,
                                    Journal* journal) {
  Answers answers(flags);
  DurableState durable(&plan);
  while (!durable.done()) {
    std::vector<JournalEntry> batch;
    const auto record = [&](JournalEntry entry) {
      durable.Apply(entry);
      batch.push_back(std::move(entry));
    };
    const int64_t step = durable.step();
    for (int g = 0; g < kGroups; ++g) {
      record(answers.Prompt(step, g));
      for (int s = 0; s < kGroupSize; ++s) record(answers.Rollout(step, g, s));
    }
    for (int g = 0; g < kGroups; ++g) {
      for (int s = 0; s < kGroupSize; ++s) record(answers.Verdict(plan, step, g, s));
    }
    const v1::UpdateRequest request = BuildUpdate(plan, durable);
    const v1::UpdateResponse response = answers.Response(request.name());
    StepTimes times;
    times.generate = times.update = 10;
    times.step = 25;
    auto row = BuildRow(plan, durable, request, response, times);
    record(UpdateEntry{request.name(), RequestHash(plan, request), response, std::move(row)});
    const int64_t position = durable.position();
    if (plan.CheckpointDue(position)) {
      record(CheckpointEntry{plan.NameOf(position), plan.CheckpointPath(position),
                             std::string(64, 'b'), 270'000'000});
    }
    std::optional<v1::StateSnapshot> snapshot;
    if (journal->SnapshotDue()) snapshot = durable.Snapshot();
    RETURN_IF_ERROR(journal->Append(batch, UnixMicros(), snapshot));
  }
  return durable.archive();
}

// Milliseconds that the choice of a group's parent takes, the mean of a thousand.
double PickMs(const CampaignPlan& plan, const SearchArchive& archive) {
  constexpr int kPicks = 1000;
  const double start = Now();
  for (int i = 0; i < kPicks; ++i) ChooseParent(plan, archive, {}, /*step=*/1 + i, 0);
  return 1000 * (Now() - start) / kPicks;
}

// The median of three; negative: it failed.
double SecondsOf(const std::string& command) {
  std::vector<double> seconds;
  for (int i = 0; i < 3; ++i) {
    const double start = Now();
    if (std::system(absl::StrCat(command, " > /dev/null 2>&1").c_str()) != 0) return -1;
    seconds.push_back(Now() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

absl::Status Main(const Flags& flags) {
  ASSIGN_OR_RETURN(const TempDir temp, TempDir::Make("journal-bench"));
  const RunPaths paths(flags.run_dir.empty() ? temp.path() + "/run"
                                             : std::filesystem::absolute(flags.run_dir).string());
  const double start = Now();
  nlohmann::ordered_json result = {{"rollouts", flags.rollouts}};
  {
    ASSIGN_OR_RETURN(const OpenedRun run, MakeRun(flags, paths));
    ASSIGN_OR_RETURN(const SearchArchive archive, Write(flags, run.plan, run.journal.get()));
    result["write_s"] = Now() - start;
    if (!archive.empty()) {
      result["archived"] = archive.begin()->second.programs.size();
      result["pick_ms"] = PickMs(run.plan, archive);
    }
  }
  result["bytes_per_rollout"] = static_cast<double>(std::filesystem::file_size(paths.journal())) /
                                static_cast<double>(flags.rollouts);
  const std::string whet = BinDir() + "/whet ";
  for (const char* command : {"status", "watch --once", "report", "resume"}) {
    result[absl::StrCat(std::string(command).substr(0, std::string(command).find(' ')), "_s")] =
        SecondsOf(absl::StrCat(whet, command, " ", paths.root()));
  }
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  result["peak_mib"] = static_cast<double>(children.ru_maxrss) / 1024;
  std::printf("%s\n", result.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  CLI::App app("How long whet status, watch, report and resume of a long run take to start.");
  whetstone::Flags flags;
  app.add_option("--rollouts", flags.rollouts, "Rollouts of the run")->check(CLI::PositiveNumber);
  app.add_option("--tokens", flags.tokens, "Tokens of a completion")->check(CLI::PositiveNumber);
  app.add_option("--run-dir", flags.run_dir,
                 "Where to make the run, and leave it (default: a temporary directory)");
  app.add_option("--set", flags.sets, "KEY=VALUE of the campaign; may be repeated");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Main(flags);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
