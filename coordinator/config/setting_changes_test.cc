#include "coordinator/config/setting_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/config/campaign_parser.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

v1::Campaign Parsed(const std::vector<std::string>& sets) {
  const auto campaign =
      ParseCampaign("name: c\nmodel: /m\nproblems: [a.md]\n", "c.yaml", "/camp", sets);
  EXPECT_TRUE(campaign.ok()) << campaign.status();
  return *campaign;
}

TEST(SettingChangesTest, NameEveryKeyThatDiffers) {
  const v1::Campaign before = Parsed({});
  EXPECT_TRUE(SettingChanges(before, before).empty());
  EXPECT_EQ(SettingChangesText(
                SettingChanges(before, Parsed({"train.lr=2e-6", "generate.stop=[\"a\", \"b\"]",
                                               "eval.problems=[v.md]", "eval.every=7"}))),
            "eval.every (none) -> 7, eval.problems (none) -> [\"/camp/v.md\"], "
            "eval.samples (none) -> 8, generate.stop [] -> [\"a\", \"b\"], "
            "train.lr 1e-05 -> 2e-06");
}

TEST(SettingChangesTest, ValuesAreAsSetTakesThem) {
  const v1::Campaign campaign =
      Parsed({"train.lr=0.1234567890123456789", "generate.stop=[\"a\\n\", \"'\"]",
              "checkpoint.dir=/a b", "train.lora.rank=4"});
  std::vector<std::string> sets;
  for (const auto& [key, value] : FlatYaml(campaign)) sets.push_back(key + "=" + value);
  EXPECT_EQ(SettingChangesText(SettingChanges(campaign, Parsed(sets))), "");
}

}  // namespace
}  // namespace whetstone
