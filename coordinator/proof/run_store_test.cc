// Run directory, metrics, TensorBoard events, stand-alone benchmark, report.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/sha256.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/durable/step_row.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/journal/worker_list.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/proof/best.h"
#include "coordinator/proof/standalone_benchmark.h"
#include "coordinator/report/metrics.h"
#include "coordinator/report/report.h"
#include "coordinator/report/tensorboard.h"
#include "coordinator/report/text_chart.h"

namespace whetstone {
namespace {

using std::chrono::seconds;

// ---- run directory ------------------------------------------------------------------------------

class RunDirTest : public testing::Test {
 protected:
  void MakeRun(const std::string& root) {
    ASSERT_TRUE(MakeDirectories(root + "/logs").ok());
    std::ofstream(root + "/campaign.yaml") << "name: x\n";
    std::ofstream(root + "/journal.db") << "";
  }
  TempDir folder_ = *TempDir::Make("rundir");
  const std::string root_ = folder_.path() + "/run";
};

TEST_F(RunDirTest, CreatesOnceAndNamesTheWayOn) {
  ASSERT_TRUE(RunDir::Create(root_).ok());
  const absl::StatusOr<RunDir> again = RunDir::Create(root_);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(again.status().message().find("whet resume " + root_), std::string::npos);
}

TEST_F(RunDirTest, ARunThatNeverGotAnywhereIsStartedAfresh) {
  const RunPaths paths(root_);
  {
    const RunDir dir = *RunDir::Create(root_);
    ASSERT_TRUE(Journal::Create(paths.journal(), "c").ok());
    EXPECT_EQ(RunDir::Create(root_).status().code(), absl::StatusCode::kFailedPrecondition)
        << "not under a living owner";
  }
  EXPECT_TRUE(RunDir::Create(root_).ok());
  EXPECT_FALSE(std::filesystem::exists(paths.journal()));
}

TEST_F(RunDirTest, ARunWithProgressIsKept) {
  const RunPaths paths(root_);
  {
    const RunDir dir = *RunDir::Create(root_);
    auto journal = *Journal::Create(paths.journal(), "c");
    ASSERT_TRUE(journal->Append({RolloutEntry{1, {}}}).ok());
  }
  EXPECT_EQ(RunDir::Create(root_).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(paths.journal()));
}

TEST_F(RunDirTest, ResumeNeedsARun) {
  EXPECT_EQ(RunDir::Open(root_, seconds(0), nullptr).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RunDirTest, BelongsToOneProcess) {
  MakeRun(root_);
  const absl::StatusOr<RunDir> first = RunDir::Open(root_, seconds(0), nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<RunDir> second = RunDir::Open(root_, seconds(0), nullptr);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find(absl::StrCat("process ", getpid())), std::string::npos)
      << second.status();
}

TEST_F(RunDirTest, WaitsForAKilledPredecessorsServices) {
  MakeRun(root_);
  // An orphan: holds a log open, as a service does, for as long as a pipe is open.
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const std::string log = root_ + "/logs/trainer.log";
  std::ofstream(log) << "";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(gate[1]);
    prctl(PR_SET_NAME, "whet-trainer");
    FILE* held = std::fopen(log.c_str(), "a");
    char byte;
    (void)!read(gate[0], &byte, 1);
    std::fclose(held);
    _exit(0);
  }
  close(gate[0]);
  // Until it has opened the file.
  const std::string fds = absl::StrCat("/proc/", child, "/fd");
  for (bool open = false; !open;) {
    std::error_code error;
    for (const auto& fd : std::filesystem::directory_iterator(fds, error)) {
      open = open || std::filesystem::read_symlink(fd.path(), error) == log;
    }
  }
  EXPECT_EQ(RunDir::Open(root_, seconds(0), nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
  std::string waited_for;
  const absl::StatusOr<RunDir> dir = RunDir::Open(root_, seconds(60), [&](const std::string& what) {
    waited_for = what;
    close(gate[1]);  // the orphan may go now
  });
  EXPECT_TRUE(dir.ok()) << dir.status();
  EXPECT_NE(waited_for.find(absl::StrCat(child)), std::string::npos) << waited_for;
  waitpid(child, nullptr, 0);
}

// ---- metrics ------------------------------------------------------------------------------------

TEST(OpenRunTest, JournalAndCampaignBelongTogether) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  v1::Campaign campaign = *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [",
                                                      SourceDir(), "/prompts/matmul_f32.md]\n"),
                                         "test", "/", {});
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  ASSERT_TRUE(Journal::Create(paths.journal(), "mine-01234567").ok());
  const auto run = OpenRun(paths, /*read_only=*/false);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->plan.campaign_id, "mine-01234567");
  campaign.set_name("yours");
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  EXPECT_EQ(OpenRun(paths, /*read_only=*/true).status().code(), absl::StatusCode::kDataLoss);
}

TEST(WorkerListTest, IsTheCampaignsUntilWritten) {
  const TempDir folder = *TempDir::Make("roster");
  const RunPaths paths(folder.path());
  v1::WorkerList campaign, now;
  campaign.add_workers()->set_ssh("cpu01");
  EXPECT_EQ(ReadWorkerList(paths, campaign)->ShortDebugString(), campaign.ShortDebugString());
  for (const char* text : {"cpu02", "me@cpu03:22:/w.sock", "/here.sock"}) {
    *now.add_workers() = ParseWorkerAddress(text);
    EXPECT_EQ(WorkerAddressText(now.workers(now.workers_size() - 1)), text);
  }
  EXPECT_EQ(now.workers(0).socket(), "/run/whetstone/worker.sock");
  EXPECT_EQ(now.workers(1).ssh(), "me@cpu03:22");
  EXPECT_EQ(now.workers(2).ssh(), "");
  now.add_workers();  // whet's own
  for (const v1::WorkerList& roster : {now, v1::WorkerList()}) {
    ASSERT_TRUE(WriteWorkerList(paths, roster).ok());
    const absl::StatusOr<v1::WorkerList> read = ReadWorkerList(paths, campaign);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ShortDebugString(), roster.ShortDebugString());
  }
  std::ofstream(paths.workers()) << "workers:\n- sssh: cpu01\n";
  EXPECT_NE(ReadWorkerList(paths, campaign).status().message().find("workers.yaml:2: "),
            std::string::npos);
}

TEST(MetricsTest, FilesAreRebuiltFromTheJournal) {
  const TempDir folder = *TempDir::Make("metrics");
  const RunPaths paths(folder.path());
  auto journal = *Journal::Create(paths.journal(), "c");
  UpdateEntry update;
  update.request.mutable_name()->set_phase(v1::UpdateName::WARMUP);
  update.request.mutable_name()->set_step(1);
  update.row = {{"loss", 2.5}};
  ASSERT_TRUE(journal->Append({update}).ok());
  {
    auto metrics = *Metrics::Open(paths, *journal);
    update.request.mutable_name()->set_phase(v1::UpdateName::GRPO);
    update.row = {{"reward", 0.25}, {"kl", std::nan("")}};
    ASSERT_TRUE(journal->Append({update}).ok());
    ASSERT_TRUE(metrics->Add(update.request.name(), update.row).ok());
  }
  const std::string want =
      "{\"step\":1,\"phase\":\"warmup\",\"loss\":2.5}\n"
      "{\"step\":1,\"phase\":\"grpo\",\"reward\":0.25,\"kl\":null}\n";
  // Keys are sorted but for the first two.
  const std::string got = *ReadFile(paths.metrics());
  const auto lines = [](const std::string& text) {
    std::vector<nlohmann::json> rows;
    const std::vector<std::string> parts = absl::StrSplit(text, '\n', absl::SkipEmpty());
    for (const std::string& line : parts) rows.push_back(nlohmann::json::parse(line));
    return rows;
  };
  EXPECT_EQ(lines(got), lines(want));
  // A crash lost the second line, or wrote it twice: the next start puts it right.
  std::ofstream(paths.metrics()) << "{\"step\":1,\"phase\":\"warmup\"}\n{\"half a li";
  ASSERT_TRUE(Metrics::Open(paths, *journal).ok());
  const std::vector<nlohmann::json> rebuilt = lines(*ReadFile(paths.metrics()));
  ASSERT_EQ(rebuilt.size(), 2u);
  EXPECT_EQ(rebuilt[1]["reward"], 0.25);
}

TEST(TensorBoardTest, ChecksumIsTheStandardsOwnExample) {
  // RFC 3720, B.4: CRC-32C of 32 zero bytes is 0x8a9136aa.
  const uint32_t crc = 0x8a9136aau;
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  EXPECT_EQ(MaskedCrc32c(std::string(32, '\0')), masked);
}

// The event file as TensorBoard's own reader sees it; the Python environment is the one that
// deploy/setup.sh --tests makes.
TEST(TensorBoardTest, TensorBoardReadsIt) {
  const std::string python = absl::StrCat(WHETSTONE_VENV_DIR, "/bin/python");
  const TempDir folder = *TempDir::Make("tb");
  {
    auto writer = *TensorBoardWriter::Create(folder.path());
    ASSERT_TRUE(writer->Add(1, {{"reward", 0.5}, {"loss", 2}}).ok());
    ASSERT_TRUE(writer->Add(2, {{"reward", -0.25}, {"kl", std::nan("")}}).ok());
  }
  std::ofstream(folder.path() + "/read.py") << R"(
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
assert sorted(events.Tags()["scalars"]) == ["loss", "reward"], events.Tags()
assert [(e.step, e.value) for e in events.Scalars("reward")] == [(1, 0.5), (2, -0.25)]
)";
  EXPECT_EQ(
      std::system(absl::StrCat(python, " ", folder.path(), "/read.py ", folder.path()).c_str()), 0);
}

// ---- best programs ------------------------------------------------------------------------------

// A problem's stand-alone benchmark compiles and finds its expert right and as fast as recorded;
// and, for one problem, the reference in its place too slow, and an empty body wrong.
class StandaloneTest : public testing::TestWithParam<std::string> {};

TEST_P(StandaloneTest, ProvesTheExpertAndRefusesOthers) {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(SourceDir(), "/prompts/", GetParam()));
  ASSERT_TRUE(text.ok()) << text.status();
  // A problem's structs may be named like what the benchmark uses itself.
  const absl::StatusOr<v1::Problem> problem =
      ParsePrompt(absl::StrReplaceAll(*text, {{"Box", "Buffer"}, {"Overlap", "Data"}}), GetParam());
  ASSERT_TRUE(problem.ok()) << problem.status();
  const TempDir folder = *TempDir::Make("best");
  v1::Verdict verdict;
  verdict.set_outcome(v1::CORRECT);
  verdict.set_timed(true);
  verdict.set_speedup(6);
  verdict.set_speedup_low(1.6);  // so wide that any machine, however busy, is inside
  verdict.set_speedup_high(100);
  const auto run = [&](const std::string& source) {
    EXPECT_TRUE(WriteProof(folder.path() + "/proof", *problem, source, verdict,
                           nlohmann::ordered_json::object())
                    .ok());
    const int status =
        std::system(absl::StrCat("sh ", folder.path(), "/proof/run.sh --benchmark_min_time=0.01 ",
                                 "--benchmark_repetitions=5 > ", folder.path(), "/out 2>&1")
                        .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const auto out = [&] { return *ReadFile(folder.path() + "/out"); };
  EXPECT_EQ(run(problem->expert()), 0) << out();
  EXPECT_NE(out().find("\nCONFIRMED"), std::string::npos) << out();
  if (problem->id() != "partition_i32") return;  // each build takes seconds
  EXPECT_EQ(run(problem->reference()), 1) << out();
  EXPECT_NE(out().find("\nNOT CONFIRMED"), std::string::npos) << out();
  const std::string empty =
      absl::StrCat(problem->signature(), problem->has_returns() ? " { return {}; }\n" : " {}\n");
  EXPECT_EQ(run(empty), 3) << "an empty body must be found wrong; " << out();
  EXPECT_NE(out().find("WRONG at"), std::string::npos) << out();
}

TEST(ProvenanceTest, NamesRunMachineAndSeeds) {
  const absl::StatusOr<v1::Problem> problem =
      ParsePromptFile(absl::StrCat(SourceDir(), "/prompts/matmul_f32.md"));
  ASSERT_TRUE(problem.ok()) << problem.status();
  const TempDir folder = *TempDir::Make("best");
  const RunPaths paths(folder.path());
  v1::Campaign campaign;
  campaign.set_name("mine");
  campaign.set_seed(~uint64_t{0});
  IncumbentEntry incumbent;
  incumbent.step = 3;
  incumbent.group_index = 1;
  incumbent.sample = 5;
  incumbent.source = "// the program\n";
  incumbent.verdict.set_worker("host7");
  incumbent.verdict.set_noise_band(0.004);
  incumbent.verdict.set_input_seed(42);
  incumbent.verdict.mutable_measured_on()->set_microcode("0x1");
  incumbent.verdict.mutable_measured_on()->add_flags("-O3");
  ASSERT_TRUE(PublishBest(paths, campaign, *problem, incumbent).ok());
  const nlohmann::json json =
      nlohmann::json::parse(*ReadFile(paths.best("matmul_f32") + "/provenance.json"));
  EXPECT_EQ(json["campaign"], "mine");
  EXPECT_EQ(json["campaign_seed"], "18446744073709551615");
  EXPECT_EQ(json["step"], 3);
  EXPECT_EQ(json["rollout"]["sample"], 5);
  EXPECT_EQ(json["host"], "host7");
  EXPECT_EQ(json["microcode"], "0x1");
  EXPECT_EQ(json["flags"][0], "-O3");
  EXPECT_EQ(json["noise_band"], 0.004);
  EXPECT_EQ(json["input_seed"], "42");
  EXPECT_EQ(json["program_sha256"], Sha256Hex(incumbent.source));
}

INSTANTIATE_TEST_SUITE_P(Prompts, StandaloneTest,
                         // In place, with checker and result; with a generator; with a size that
                         // has the name of another variable; with structs by value and returned.
                         testing::Values("partition_i32.md", "spmm_csr_f32.md",
                                         "pairwise_sqdist_f32.md", "box_overlap_i32.md"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('.'));
                         });

TEST(TextChartTest, ScalesAveragesAndLeavesGaps) {
  const double none = std::nan("");
  EXPECT_EQ(TextChart("reward", {-1, none, 0, 1}, 10, 2),
            "reward  1\n"
            "         1 ┤  ▁█\n"
            "        -1 ┤▁ ██\n");
  EXPECT_EQ(TextChart("t", {1, 3, 5, 7, 100, none}, 3, 1),
            "t  100\n"
            "       100 ┤▁▁█\n")
      << "pairs of neighbours: 2, 6, 100";
  EXPECT_EQ(TextChart("same", {3, 3}, 10, 1), "same  3\n         3 ┤▅▅\n");
  EXPECT_EQ(TextChart("nothing", {none}, 10, 3), "");
  EXPECT_EQ(TextChart("nothing", {}, 10, 3), "");
}

TEST(ReportTest, IsOnePageAndHarmless) {
  CampaignPlan plan;
  plan.campaign.set_name("x");
  PlannedProblem planned;
  planned.problem.set_id("p");
  planned.problem.set_reference("if (a < b && c > d) {}");
  plan.problems.push_back(planned);
  RunSummary summary;
  summary.name = "<script>alert(1)</script>";
  summary.steps_total = 3;
  for (int i = 0; i < 3; ++i) {
    summary.rows.push_back({{"reward", 0.1 * i}, {"reward_std", 0.2}, {"outcome/correct", 0.5}});
  }
  IncumbentEntry incumbent;
  incumbent.source = "a[i] < b && \"</pre><script>\"";
  incumbent.verdict.set_speedup(3.25);
  summary.incumbents["p"] = incumbent;
  const std::string html = ReportHtml(plan, summary);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "nothing from outside";
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("3.25×"), std::string::npos);
  EXPECT_NE(html.find("a[i] &lt; b &amp;&amp;"), std::string::npos);
}

}  // namespace
}  // namespace whetstone
