#include "coordinator/yaml/yaml_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coordinator/yaml/schema_comments.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/front_matter.pb.h"

namespace whetstone {
namespace {

using nlohmann::ordered_json;

// Returns the schema of front matter, of which `defaults` has the defaults.
ordered_json FrontMatterSchema(absl::string_view defaults, const YamlDialect& dialect) {
  v1::FrontMatter message;
  YamlMessage source(&message, dialect);
  EXPECT_TRUE(source.Merge(defaults, "defaults").ok());
  return YamlSchema(source, "a title");
}

// Returns the schema of a key without its description.
ordered_json Bare(ordered_json schema) {
  schema.erase("description");
  return schema;
}

TEST(YamlSchemaTest, SaysWhatTheReaderAccepts) {
  const ordered_json schema = FrontMatterSchema("", {.null_clears = false});
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["title"], "a title");
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  const ordered_json& keys = schema["properties"];
  EXPECT_EQ(Bare(keys["split"]), ordered_json({{"enum", {"train", "valid", "test"}}}));
  EXPECT_EQ(Bare(keys["id"]), ordered_json({{"type", {"string", "number", "boolean"}}}))
      << "whatever stands there is text";
  EXPECT_EQ(Bare(keys["compare"]["properties"]["rule"])["enum"],
            ordered_json({"exact", "scaled", "elementwise"}));
  EXPECT_EQ(Bare(keys["compare"]["properties"]["rtol"]),
            ordered_json({{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}}));
  EXPECT_EQ(Bare(keys["limits"]["properties"]["memory_mb"]),
            ordered_json({{"type", "integer"}, {"minimum", 1}, {"maximum", 65536}}));
  EXPECT_EQ(Bare(keys["compile"]["properties"]["allow"])["items"]["enum"][4], "threads");
}

TEST(YamlSchemaTest, KeysOfTheAuthorsOwnAndPlainValues) {
  const ordered_json schema = FrontMatterSchema("", {.null_clears = false});
  const ordered_json& keys = schema["properties"];
  const ordered_json& argument = keys["args"]["additionalProperties"];
  EXPECT_EQ(argument["additionalProperties"], false);
  EXPECT_EQ(Bare(argument["properties"]["out"]), ordered_json({{"type", "boolean"}}));
  const ordered_json& size = keys["sizes"]["properties"]["check"]["items"]["anyOf"];
  ASSERT_EQ(size.size(), 2u);
  EXPECT_EQ(size[0], ordered_json({{"type", "integer"}}));
  EXPECT_EQ(size[1]["type"], "object");
  EXPECT_EQ(size[1]["additionalProperties"], ordered_json({{"type", "integer"}}));
}

TEST(YamlSchemaTest, DefaultsAreThoseThatWereGiven) {
  const ordered_json schema =
      FrontMatterSchema("compile: {std: c++20, flags: [-O3], threads: 1}\nlimits: {run_s: 5}", {});
  const ordered_json& compile = schema["properties"]["compile"]["properties"];
  EXPECT_EQ(compile["std"]["default"], "c++20");
  EXPECT_EQ(compile["flags"]["default"], ordered_json::array({"-O3"}));
  EXPECT_EQ(compile["threads"]["default"], 1);
  EXPECT_FALSE(compile["headers"].contains("default"));
  const ordered_json& limits = schema["properties"]["limits"]["properties"];
  EXPECT_EQ(limits["run_s"]["default"], 5);
  EXPECT_FALSE(limits["total_s"].contains("default"));
}

TEST(YamlSchemaTest, WhereNullClearsItIsAllowed) {
  const ordered_json keys = FrontMatterSchema("", {})["properties"];
  EXPECT_EQ(keys["limits"]["type"], ordered_json({"object", "null"}));
  EXPECT_EQ(keys["split"]["enum"], ordered_json({"train", "valid", "test", nullptr}));
  EXPECT_EQ(keys["args"]["type"], ordered_json({"object", "null"}));
  EXPECT_EQ(keys["sizes"]["properties"]["check"]["items"]["anyOf"][0]["type"], "integer")
      << "no element may be empty";
}

TEST(YamlSchemaTest, KeysAreListedWithTheirWords) {
  const std::vector<SchemaKey> keys = SchemaKeys(*v1::Campaign::descriptor());
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const SchemaKey& key) { return key.key == name; });
    return found == keys.end() ? SchemaKey{"none", {}, ""} : *found;
  };
  EXPECT_THAT(find("train.kl_estimator").words, testing::ElementsAre("k1", "k2", "k3"));
  EXPECT_THAT(find("profile").words, testing::ElementsAre("true", "false"));
  EXPECT_TRUE(find("train.lora.rank").words.empty());
  EXPECT_TRUE(find("train.lora.targets").words.empty()) << "a list is none of them";
  EXPECT_EQ(find("train.lora.rank").key, "train.lora.rank");
  EXPECT_EQ(find("cluster.workers").key, "cluster.workers") << "a list is one value";
  EXPECT_EQ(find("train").key, "none") << "a section is none";
}

TEST(SchemaCommentsTest, AKeyHasTheCommentOfItsField) {
  const auto comment = [](const google::protobuf::Descriptor* message, const char* field) {
    return CommentOf(message->FindFieldByName(field));
  };
  EXPECT_EQ(comment(v1::TrainConfig::descriptor(), "steps"), "GRPO updates. Default 40.");
  EXPECT_EQ(comment(v1::RewardConfig::descriptor(), "clip_low"),
            "The least that speed can add. Default -0.2.")
      << "it stands behind the field";
  EXPECT_THAT(comment(v1::Campaign::descriptor(), "patience"),
              testing::StartsWith("How long a campaign goes on waiting"))
      << "a section's is its message's";
  EXPECT_EQ(comment(v1::Campaign::descriptor(), "local"),
            "The services `whet run` starts itself; ignored with `cluster`.");
  EXPECT_EQ(comment(v1::FrontMatter::Argument::descriptor(), "out"),
            "Poisoned before the call, compared after it. Default false.")
      << "of a message within another";
}

}  // namespace
}  // namespace whetstone
