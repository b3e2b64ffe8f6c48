#include "coordinator/journal/worker_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

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

TEST(WorkerListTest, AFileNamesWorkersAndHowTheyAreReached) {
  const TempDir folder = *TempDir::Make("worker_list");
  const std::string file = folder.path() + "/w.yaml";
  v1::ClusterConfig ours;
  ours.set_ssh_config("/ours");
  ours.add_workers()->set_ssh("cpu01");
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    return ReadClusterFile(file, ours);
  };
  // A campaign's cluster is reached by its own keys, a list as ours is.
  std::ofstream(folder.path() + "/p.md");
  const std::string campaign = "name: other\nmodel: /m\nproblems: [p.md]\n";
  const auto theirs =
      read(campaign +
           "checkpoint: {dir: /c}\n"
           "cluster: {trainer: {ssh: gpu}, workers: [{ssh: \"cpu[07-08]\"}], ssh_config: /t}\n");
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_EQ(theirs->ssh_config(), "/t");
  ASSERT_EQ(theirs->workers_size(), 2);
  EXPECT_EQ(theirs->workers(1).ssh(), "cpu08");
  const auto list = read("# written by hand\nworkers:\n- {ssh: \"cpu[07-08]\", socket: /w}\n");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->ssh_config(), "/ours");
  ASSERT_EQ(list->workers_size(), 2);
  EXPECT_EQ(list->workers(0).ssh(), "cpu07");
  EXPECT_EQ(list->workers(1).socket(), "/w");
  EXPECT_EQ(read("workers: [{socket: /a}, {socket: /b}]\n")->workers_size(), 2);

  const auto says = [](const char* what) { return testing::HasSubstr(what); };
  EXPECT_THAT(std::string(read(campaign).status().message()), says("names no workers"));
  EXPECT_THAT(std::string(read("workers: []\n").status().message()), says("not none"));
  EXPECT_THAT(std::string(read("workers: [{ssh: a}, {socket: /b}]\n").status().message()),
              says("not both"));
  EXPECT_THAT(std::string(read("workers: [{sssh: a}]\n").status().message()), says("w.yaml:1: "));
  EXPECT_EQ(ReadClusterFile(folder.path() + "/none", ours).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(WorkerListTest, AHostRangeStandsForManyAddresses) {
  const auto texts = [](const char* text) {
    const absl::StatusOr<std::vector<v1::WorkerHost>> addresses = ParseWorkerAddresses(text);
    std::vector<std::string> all;
    for (const v1::WorkerHost& address : *addresses) all.push_back(WorkerAddressText(address));
    return all;
  };
  EXPECT_EQ(texts("me@cpu[01-02,7]:/w.sock"),
            (std::vector<std::string>{"me@cpu01:/w.sock", "me@cpu02:/w.sock", "me@cpu7:/w.sock"}));
  EXPECT_EQ(texts("cpu03"), (std::vector<std::string>{"cpu03"}));
  EXPECT_EQ(texts("/w[1-2].sock"), (std::vector<std::string>{"/w[1-2].sock"})) << "no host";
  EXPECT_EQ(ParseWorkerAddresses("cpu[3-1]").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace whetstone
