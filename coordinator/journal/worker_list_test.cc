#include "coordinator/journal/worker_list.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/file.h"

namespace whetstone {
namespace {

TEST(WorkerListTest, IsTheCampaignsUntilWritten) {
  const TempDir folder = *TempDir::Make("worker_list");
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
  now.add_workers();  // this is whet's own
  for (const v1::WorkerList& worker_list : {now, v1::WorkerList()}) {
    ASSERT_TRUE(WriteWorkerList(paths, worker_list).ok());
    const absl::StatusOr<v1::WorkerList> read = ReadWorkerList(paths, campaign);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ShortDebugString(), worker_list.ShortDebugString());
  }
  std::ofstream(paths.workers()) << "workers:\n- sssh: cpu01\n";
  EXPECT_NE(ReadWorkerList(paths, campaign).status().message().find("workers.yaml:2: "),
            std::string::npos);
}

}  // namespace
}  // namespace whetstone
