// What `whet schema` prints is held to the files that the repository itself has: each campaign and
// each problem is valid, and what the reader refuses is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/yaml/call_commas.h"

namespace whetstone {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns a text of YAML as JSON, by YAML's core schema.
json ToJson(const YAML::Node& node) {
  if (node.IsMap()) {
    json map = json::object();
    for (const auto& entry : node) {
      map[ShowCallCommas(entry.first.Scalar())] = ToJson(entry.second);
    }
    return map;
  }
  if (node.IsSequence()) {
    json list = json::array();
    for (const YAML::Node& element : node) list.push_back(ToJson(element));
    return list;
  }
  if (node.IsNull()) return nullptr;
  const std::string text = ShowCallCommas(node.Scalar());
  int64_t whole = 0;
  double number = 0;
  if (node.Tag() == "!") return text;  // in quotes
  if (text == "true" || text == "false") return text == "true";
  if (absl::SimpleAtoi(text, &whole)) return whole;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

bool IsOfType(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  ADD_FAILURE() << "no type of JSON Schema: " << type;
  return false;
}

// Appends what is wrong with a value by a schema of the words that whet's have; of any other word
// it complains too.
void Check(const json& schema, const json& value, const std::string& at,
           std::vector<std::string>* wrong) {
  for (const auto& [word, rule] : schema.items()) {
    bool right = true;
    if (word == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      right = std::any_of(types.begin(), types.end(), [&value](const json& type) {
        return IsOfType(value, type.get<std::string>());
      });
    } else if (word == "enum") {
      right = std::find(rule.begin(), rule.end(), value) != rule.end();
    } else if (word == "minimum") {
      right = !value.is_number() || value >= rule;
    } else if (word == "maximum") {
      right = !value.is_number() || value <= rule;
    } else if (word == "exclusiveMinimum") {
      right = !value.is_number() || value > rule;
    } else if (word == "exclusiveMaximum") {
      right = !value.is_number() || value < rule;
    } else if (word == "items" && value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) {
        Check(rule, value[i], absl::StrCat(at, "[", i, "]"), wrong);
      }
    } else if (word == "properties" && value.is_object()) {
      for (const auto& [key, below] : rule.items()) {
        if (value.contains(key)) Check(below, value[key], absl::StrCat(at, ".", key), wrong);
      }
    } else if (word == "additionalProperties" && value.is_object()) {
      for (const auto& [key, below] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(key)) continue;
        if (rule == false) {
          wrong->push_back(absl::StrCat(at, ".", key, ": no such key"));
        } else {
          Check(rule, below, absl::StrCat(at, ".", key), wrong);
        }
      }
    } else if (word == "anyOf") {
      std::vector<std::vector<std::string>> each;
      for (const json& one : rule) Check(one, value, at, &each.emplace_back());
      right = std::any_of(each.begin(), each.end(), [](const auto& one) { return one.empty(); });
    } else {
      const std::vector<std::string> known = {
          "$schema", "title",      "description",         "default",
          "items",   "properties", "additionalProperties"};
      if (std::find(known.begin(), known.end(), word) == known.end()) {
        wrong->push_back(absl::StrCat(at, ": an unknown word of the schema: ", word));
      }
    }
    if (!right) wrong->push_back(absl::StrCat(at, ": not ", word, " ", rule.dump()));
  }
}

class SchemaTest : public testing::Test {
 protected:
  json Schema(const std::string& kind) {
    const std::string file = folder_.path() + "/schema";
    const std::string command = absl::StrCat(BinDir(), "/whet schema ", kind, " >", file);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return json::parse(*ReadFile(file), nullptr, /*allow_exceptions=*/false);
  }

  static std::vector<std::string> Wrong(const json& schema, const std::string& yaml) {
    std::vector<std::string> wrong;
    Check(schema, ToJson(YAML::Load(yaml)), "", &wrong);
    return wrong;
  }

  static std::vector<std::string> WrongProblem(const json& schema, const std::string& yaml) {
    return Wrong(schema, *HideCallCommas(yaml, "p.md", 1));
  }

  // Returns the files below a folder of the tree with this ending.
  static std::vector<std::string> FilesIn(const std::string& folder, const std::string& ending) {
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(absl::StrCat(SourceDir(), "/", folder))) {
      if (absl::EndsWith(entry.path().string(), ending)) files.push_back(entry.path().string());
    }
    return files;
  }

  TempDir folder_ = *TempDir::Make("schema");
};

TEST_F(SchemaTest, EveryCampaignOfTheRepositoryIsValid) {
  const json schema = Schema("campaign");
  size_t campaigns = 0;
  for (const char* folder : {"coordinator/config", "deploy", "benchmarks/learning"}) {
    for (const std::string& file : FilesIn(folder, ".yaml")) {
      ++campaigns;
      EXPECT_THAT(Wrong(schema, *ReadFile(file)), IsEmpty()) << file;
    }
  }
  EXPECT_GE(campaigns, 5u);
  // Pages show some, between such lines.
  for (const char* page : {"README.md", "docs/operating.md"}) {
    const std::vector<std::string> parts =
        absl::StrSplit(*ReadFile(absl::StrCat(SourceDir(), "/", page)), "```yaml\n");
    ASSERT_GE(parts.size(), 2u) << page;
    for (size_t i = 1; i < parts.size(); ++i) {
      EXPECT_THAT(Wrong(schema, parts[i].substr(0, parts[i].find("```"))), IsEmpty()) << page;
    }
  }
}

TEST_F(SchemaTest, EveryProblemOfTheRepositoryIsValid) {
  const json schema = Schema("problem");
  size_t problems = 0;
  for (const char* folder : {"prompts", "benchmarks/learning/functions"}) {
    for (const std::string& file : FilesIn(folder, ".md")) {
      const std::string text = *ReadFile(file);
      if (!absl::StartsWith(text, "---\n")) continue;  // a page about them
      ++problems;
      const absl::StatusOr<PromptParts> parts = SplitPrompt(text, file);
      ASSERT_TRUE(parts.ok()) << parts.status();
      EXPECT_THAT(WrongProblem(schema, parts->front_matter), IsEmpty()) << file;
    }
  }
  EXPECT_GE(problems, 100u);
}

TEST_F(SchemaTest, WhatTheReaderRefusesIsNotValid) {
  const json campaign = Schema("campaign");
  EXPECT_THAT(Wrong(campaign, "train: {stepz: 3}"), ElementsAre(".train.stepz: no such key"));
  EXPECT_THAT(Wrong(campaign, "trian: {steps: 3}"), ElementsAre(".trian: no such key"));
  EXPECT_THAT(Wrong(campaign, "train: {steps: many}"),
              ElementsAre(".train.steps: not type [\"integer\",\"null\"]"));
  EXPECT_THAT(Wrong(campaign, "train: {steps: 1.5}"),
              ElementsAre(".train.steps: not type [\"integer\",\"null\"]"));
  EXPECT_THAT(Wrong(campaign, "train: {lr: \"1\"}"),
              ElementsAre(".train.lr: not type [\"number\",\"null\"]"));
  EXPECT_THAT(Wrong(campaign, "train: {lr: 0}"), ElementsAre(".train.lr: not exclusiveMinimum 0"));
  EXPECT_THAT(Wrong(campaign, "generate: {top_p: 1.5}"),
              ElementsAre(".generate.top_p: not maximum 1"));
  EXPECT_EQ(Wrong(campaign, "train: {loss: dappo}").size(), 1u);
  EXPECT_THAT(Wrong(campaign, "problems: a.md"),
              ElementsAre(".problems: not type [\"array\",\"null\"]"));
  EXPECT_THAT(Wrong(campaign, "cluster: {workers: [{shh: a}]}"),
              ElementsAre(".cluster.workers[0].shh: no such key"));
  EXPECT_THAT(Wrong(campaign, "train: {loss: dapo, hints: null, frozen: true}\nwarmup: null"),
              IsEmpty());

  const json problem = Schema("problem");
  EXPECT_THAT(WrongProblem(problem, "signatur: void f()"), ElementsAre(".signatur: no such key"));
  EXPECT_THAT(WrongProblem(problem, "args: {a: {shpe: [n]}}"),
              ElementsAre(".args.a.shpe: no such key"));
  EXPECT_THAT(WrongProblem(problem, "args: {a: {fill: uniform(-1, 1), out: 1}}"),
              ElementsAre(".args.a.out: not type \"boolean\""));
  EXPECT_EQ(WrongProblem(problem, "sizes: {check: [x]}").size(), 1u);
  EXPECT_EQ(WrongProblem(problem, "sizes: {check: [{r: x}]}").size(), 1u);
  EXPECT_THAT(WrongProblem(problem, "sizes: {check: [7, {r: 3, c: 5}]}"), IsEmpty());
  EXPECT_EQ(WrongProblem(problem, "split: dev").size(), 1u);
  EXPECT_EQ(WrongProblem(problem, "limits: {run_s: 0}").size(), 1u);
}

// docs/campaign.md is made of the same comments, by another reader.
TEST_F(SchemaTest, AKeyIsDescribedAsOnThePage) {
  const json schema = Schema("campaign");
  int rows = 0;
  const std::string page = *ReadFile(SourceDir() + "/docs/campaign.md");
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, absl::MaxSplits(" | ", 2));
    if (!absl::StartsWith(line, "| `") || cells.size() != 3) continue;
    ++rows;
    const json* at = &schema;
    const std::string path = cells[0].substr(3, cells[0].size() - 4);
    for (const absl::string_view part : absl::StrSplit(path, '.')) {
      const bool list = absl::EndsWith(part, "[]");
      const std::string key(absl::StripSuffix(part, "[]"));
      ASSERT_TRUE(at->contains("properties") && (*at)["properties"].contains(key)) << line;
      at = &(*at)["properties"][key];
      if (list) at = &(*at)["items"];
    }
    EXPECT_EQ(absl::StrCat(at->value("description", ""), " |"), cells[2]) << line;
  }
  EXPECT_GE(rows, 100);
}

}  // namespace
}  // namespace whetstone
