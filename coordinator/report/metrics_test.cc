#include "coordinator/report/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/file.h"

namespace whetstone {
namespace {

TEST(MetricsTest, AnEvaluationHasARow) {
  const TempDir folder = *TempDir::Make("metrics");
  const RunPaths paths(folder.path());
  auto journal = *Journal::Create(paths.journal(), "c");
  EvaluationEntry evaluation;
  evaluation.name.set_phase(v1::UpdateName::EVAL);
  evaluation.name.set_step(20);
  evaluation.row = {{"eval/correct", 0.5}};
  ASSERT_TRUE(journal->Append({evaluation}, 1'500'000).ok());
  ASSERT_TRUE(Metrics::Open(paths, *journal).ok());
  EXPECT_EQ(*ReadFile(paths.metrics()),
            "{\"step\":20,\"phase\":\"eval\",\"unix_time\":1.5,\"eval/correct\":0.5}\n");
  std::string events;
  for (const auto& file : std::filesystem::directory_iterator(paths.tensorboard())) {
    events += *ReadFile(file.path().string());
  }
  EXPECT_NE(events.find("eval/correct"), std::string::npos);
}

TEST(MetricsTest, FilesAreRebuiltFromTheJournal) {
  const TempDir folder = *TempDir::Make("metrics");
  const RunPaths paths(folder.path());
  auto journal = *Journal::Create(paths.journal(), "c");
  UpdateEntry update;
  update.name.set_phase(v1::UpdateName::WARMUP);
  update.name.set_step(1);
  update.row = {{"loss", 2.5}};
  ASSERT_TRUE(journal->Append({update}, 1'500'000).ok());
  {
    auto metrics = *Metrics::Open(paths, *journal);
    update.name.set_phase(v1::UpdateName::GRPO);
    update.row = {{"reward", 0.25}, {"kl", std::nan("")}};
    ASSERT_TRUE(journal->Append({update}, 2'250'000).ok());
    ASSERT_TRUE(metrics->Add({update.name, 2'250'000, update.row}).ok());
  }
  const std::string want =
      "{\"step\":1,\"phase\":\"warmup\",\"unix_time\":1.5,\"loss\":2.5}\n"
      "{\"step\":1,\"phase\":\"grpo\",\"unix_time\":2.25,\"reward\":0.25,\"kl\":null}\n";
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
  EXPECT_EQ(rebuilt[1]["unix_time"], 2.25) << "when it came to be, not when the run went on";
}

}  // namespace
}  // namespace whetstone
