#include "coordinator/config/setting_changes.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

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
                                               "eval.problems=[/v.md]", "eval.every=7"}))),
            "eval.every (none) -> 7, eval.problems (none) -> [\"/v.md\"], "
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

// Calls `visit` with every key of a campaign that has a plain value or a list.
void ForEachKey(const google::protobuf::Descriptor& section, const std::string& prefix,
                const std::function<void(const std::string& key)>& visit) {
  for (int i = 0; i < section.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = section.field(i);
    const std::string key = absl::StrCat(prefix, field->name());
    if (field->message_type() != nullptr && !field->is_repeated()) {
      ForEachKey(*field->message_type(), key + ".", visit);
    } else {
      visit(key);
    }
  }
}

TEST(SettingChangesTest, EveryKeyHasARule) {
  ForEachKey(*v1::Campaign::descriptor(), "", [](const std::string& key) {
    const SettingRule* const rule = RuleOf(key);
    ASSERT_NE(rule, nullptr) << key << " has no row in setting_changes.cc";
    EXPECT_EQ(rule->counts == ChangeCounts::kNever, !rule->why_not.empty()) << key;
  });
}

TEST(SettingChangesTest, SomeKeysMayChangeAndOthersSayWhyNot) {
  const v1::Campaign began = Parsed({});
  const auto error = [](const v1::Campaign& campaign, const std::string& set) {
    const auto changed = ChangedCampaign(campaign, {set});
    EXPECT_TRUE(changed.ok() || absl::IsInvalidArgument(changed.status()));
    return std::string(changed.status().message());
  };
  const auto changed = ChangedCampaign(
      began, {"train.steps=200", "generate={temperature: 0.7}", "seed=17", "policy.key_env=\"\""});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(SettingChangesText(SettingChanges(began, *changed)),
            "generate.temperature 1 -> 0.7, train.steps 40 -> 200");
  EXPECT_EQ(error(began, "seed=18"),
            "'seed' of a campaign that has begun can't be changed (seed 17 -> 18): the run's "
            "random numbers began with it");
  EXPECT_THAT(error(began, "problems=[b.md]"), HasSubstr("rollouts and verdicts are of them"));
  EXPECT_THAT(error(began, "eval.problems=[v.md]"), HasSubstr("gains and loses no section"));
  EXPECT_THAT(error(began, "train.lr=-1"), HasSubstr("'train.lr'"));
  EXPECT_THAT(error(began, "train.lrr=1"), HasSubstr("did you mean"));
  EXPECT_EQ(error(began, "local.threads=2"), "");
  const v1::Campaign deterministic = Parsed(
      {"deterministic=true", "train.token_budget=512", "local.threads=1", "local.dtype=fp32"});
  EXPECT_THAT(error(deterministic, "local.threads=2"), HasSubstr("last bits"));
}

TEST(SettingChangesTest, HowAnEndpointIsAskedIsNoPartOfACampaign) {
  EXPECT_TRUE(SaysHowAnEndpointIsAsked("policy.requests_max=7"));
  for (const char* set :
       {"policy.model=other", "train.steps=3", "policy={}", "checkpoint.keep=1"}) {
    EXPECT_FALSE(SaysHowAnEndpointIsAsked(set)) << set;
  }
  const v1::Campaign c = Parsed({"policy.endpoint=http://127.0.0.1:1/v1", "policy.model=m"});
  const auto changed = ChangedCampaign(c, {"policy.requests_max=7", "policy.timeout_s=5"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->policy().requests_max(), 7);
  EXPECT_THAT(std::string(ChangedCampaign(c, {"policy.concurrency=0"}).status().message()),
              HasSubstr("'policy.concurrency'"));
}

}  // namespace
}  // namespace whetstone
