// The real `whet` under test: run it to its end or in the background, with a campaign that takes
// seconds, and look at what it left in its run directory.
#ifndef WHETSTONE_TESTS_SYSTEM_WHET_FIXTURE_H_
#define WHETSTONE_TESTS_SYSTEM_WHET_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/file.h"
#include "coordinator/process/child_process.h"

namespace whetstone {

struct WhetResult {
  int exit_code = -1;
  std::string out;
  std::string err;
  // The last line of stdout as JSON; null if it is none.
  nlohmann::json json() const;
};

// A program of this project in the background.
class BackgroundProgram {
 public:
  BackgroundProgram(const std::vector<std::string>& words, const std::string& directory);
  pid_t pid() const { return child_->pid(); }
  void Signal(int signal) const;
  bool Ended() const { return child_->Ended().has_value(); }
  // Waits until it ends, at most `limit`; the exit code is 128 + N after signal N, -1 if still
  // running.
  WhetResult Wait(std::chrono::seconds limit);
  std::string out() const;
  std::string err() const;

 private:
  std::string out_path_;
  std::string err_path_;
  std::unique_ptr<ChildProcess> child_;
};

// One row of the journal's rollouts or verdicts, as text: enough to see that it did not change.
using Rows = std::map<std::string, std::string>;

class WhetTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  void SetUp() override;

  // A directory of two layers and random weights / the small real model.
  static std::string TinyModel();
  static std::string SmallModel();
  static std::string Binary(const std::string& name);

  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }
  std::string RunDirectory() const { return Path("run"); }

  // Writes campaign.yaml: the tiny model, one small problem whose answer the response prefix gives
  // away (so that candidates are measured although the model knows nothing), `steps` steps of 4
  // rollouts. `more` is YAML appended at top level.
  std::string WriteCampaign(int steps, const std::string& more = "");

  // Runs `whet words…` to its end.
  WhetResult Whet(const std::vector<std::string>& words,
                  std::chrono::seconds limit = std::chrono::seconds(300)) const;
  std::unique_ptr<BackgroundProgram> StartWhet(const std::vector<std::string>& words) const;

  // Lines of metrics.jsonl so far.
  std::vector<nlohmann::json> Metrics() const;
  Rows Journal(const std::string& sql) const;
  Rows Rollouts() const;
  Rows Verdicts() const;
  // Every step's rollouts, verdicts and updates are there exactly once.
  void ExpectComplete(int steps, int group_size = 4) const;

  // Processes of `name` that have this test's run directory open or on their command line.
  std::vector<pid_t> ServicesOf(const std::string& name) const;
  // Kills a rank of this test's trainer, which is a launcher and two ranks.
  void KillRank(int rank) const;

  std::unique_ptr<TempDir> dir_;
};

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_WHET_FIXTURE_H_
