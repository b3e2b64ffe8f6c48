#include "coordinator/journal/open_run.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"

namespace whetstone {
namespace {

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

}  // namespace
}  // namespace whetstone
