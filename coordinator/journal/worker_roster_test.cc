#include "coordinator/journal/worker_roster.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/file.h"

namespace whetstone {
namespace {

TEST(WorkerRosterTest, IsTheCampaignsUntilWritten) {
  const TempDir folder = *TempDir::Make("roster");
  const RunPaths paths(folder.path());
  v1::Roster campaign, now;
  campaign.add_workers()->set_ssh("cpu01");
  EXPECT_EQ(ReadRoster(paths, campaign)->ShortDebugString(), campaign.ShortDebugString());
  for (const char* text : {"cpu02", "me@cpu03:22:/w.sock", "/here.sock"}) {
    *now.add_workers() = ParseWorkerAddress(text);
    EXPECT_EQ(WorkerAddressText(now.workers(now.workers_size() - 1)), text);
  }
  EXPECT_EQ(now.workers(0).socket(), "/run/whetstone/worker.sock");
  EXPECT_EQ(now.workers(1).ssh(), "me@cpu03:22");
  EXPECT_EQ(now.workers(2).ssh(), "");
  now.add_workers();  // whet's own
  for (const v1::Roster& roster : {now, v1::Roster()}) {
    ASSERT_TRUE(WriteRoster(paths, roster).ok());
    const absl::StatusOr<v1::Roster> read = ReadRoster(paths, campaign);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ShortDebugString(), roster.ShortDebugString());
  }
  std::ofstream(paths.workers()) << "workers:\n- sssh: cpu01\n";
  EXPECT_NE(ReadRoster(paths, campaign).status().message().find("workers.yaml:2: "),
            std::string::npos);
}

}  // namespace
}  // namespace whetstone
