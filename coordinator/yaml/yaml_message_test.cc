#include "coordinator/yaml/yaml_message.h"

#include <gtest/gtest.h>

#include "common/source_place.h"
#include "whetstone/v1/front_matter.pb.h"

namespace whetstone {
namespace {

// Returns what Merge says about `yaml`, which begins on line 2 of f.md.
std::string Error(absl::string_view yaml, const YamlDialect& dialect = {}) {
  v1::FrontMatter message;
  return std::string(YamlMessage(&message, dialect).Merge(yaml, "f.md", 2).message());
}

TEST(YamlMessageTest, KeysOfTheAuthorsOwnKeepTheirOrder) {
  v1::FrontMatter message;
  YamlMessage source(&message);
  ASSERT_TRUE(source.Merge("types:\n  B: {y: f32, x: i8}\n  A: {z: u8}\n", "f.md", 2).ok());
  ASSERT_EQ(message.types_size(), 2);
  EXPECT_EQ(message.types(0).key(), "B");
  EXPECT_EQ(message.types(0).value(0).key(), "y");
  EXPECT_EQ(message.types(0).value(1).value(), "i8");
  EXPECT_EQ(source.Where("types.A"), "f.md:4");
  EXPECT_TRUE(source.Given("types.A.z"));
  EXPECT_FALSE(source.Given("types.A.x"));
  EXPECT_EQ(source.Where("types.A.x"), "f.md:4") << "the nearest section around it";
  EXPECT_EQ(source.Where("sizes"), "f.md:2") << "the text as a whole";
  EXPECT_EQ(Error("types: {B: {y: f32, y: f32}}"), "f.md:2: 'types.B.y' is given twice");
}

TEST(YamlMessageTest, PlainValueOrMap) {
  v1::FrontMatter message;
  ASSERT_TRUE(YamlMessage(&message).Merge("sizes: {check: [7, {r: 2, c: 3}]}", "f.md").ok());
  EXPECT_EQ(message.sizes().check(0).plain(), 7);
  EXPECT_FALSE(message.sizes().check(1).has_plain());
  EXPECT_EQ(message.sizes().check(1).by_name(1).value(), 3);
  EXPECT_EQ(Error("sizes: {check:\n  - 7\n  - {r: x}}"),
            "f.md:3: not valid YAML: illegal block entry");
  EXPECT_EQ(Error("sizes:\n  check:\n  - 7\n  - {r: x}"),
            "f.md:5: 'sizes.check[1].r' must be a whole number, not 'x'");
  EXPECT_EQ(
      Error("sizes: {check: [x]}"),
      "f.md:2: 'sizes.check[0]' must be a whole number, or a map as in {r: 3, c: 5}, not 'x'");
}

TEST(YamlMessageTest, EnumsAreWrittenInLowerCase) {
  v1::FrontMatter message;
  ASSERT_TRUE(YamlMessage(&message).Merge("compare: {rule: scaled}", "f.md").ok());
  EXPECT_EQ(message.compare().rule(), v1::Compare::SCALED);
  EXPECT_EQ(Error("compare: {rule: rule_unspecified}"),
            "f.md:2: 'compare.rule' must be one of exact, scaled, elementwise, not "
            "'rule_unspecified'; did you mean 'elementwise'?");
  EXPECT_EQ(Error("compare: {rule: [exact]}"),
            "f.md:2: 'compare.rule' must be one of exact, scaled, elementwise, not a list");
}

// Returns the line that comes with what Merge says about `yaml`.
std::string Shown(absl::string_view yaml, const YamlDialect& dialect = {}) {
  v1::FrontMatter message;
  return ExcerptOf(YamlMessage(&message, dialect).Merge(yaml, "f.md", 2));
}

TEST(YamlMessageTest, AnErrorShowsItsLine) {
  EXPECT_EQ(Shown("id: x\ncost: {flop: 1}"), "    3 | cost: {flop: 1}\n      |        ^");
  EXPECT_EQ(Shown("cost:\n  flops: [1]\n"), "    3 |   flops: [1]\n      |          ^")
      << "a wrong value is what the caret stands below";
  EXPECT_EQ(Shown("cost:\nid: x", {.null_clears = false}), "    2 | cost:\n      | ^")
      << "of an empty one its key";
  EXPECT_EQ(Shown("id: [x\n"), "") << "behind the last line there is none";
  EXPECT_EQ(Shown("args: {a: {fill: uniform(-1, 1), shap: n}}", {.calls = true}),
            "    2 | args: {a: {fill: uniform(-1, 1), shap: n}}\n"
            "      |                                  ^")
      << "a comma that was hidden is one character";
  EXPECT_EQ(Shown("id: x\ncost: [1, {", {.calls = true}), "    3 | cost: [1, {\n      |       ^");
}

TEST(YamlMessageTest, APlaceHasItsLine) {
  v1::FrontMatter message;
  YamlMessage source(&message);
  ASSERT_TRUE(source.Merge("id: x\nlimits:\n  run_s: 7\n", "f.md", 2).ok());
  ASSERT_TRUE(source.Set("limits.total_s=9").ok());
  const SourcePlace place = source.Place("limits.run_s");
  EXPECT_EQ(place.name, "f.md:4");
  EXPECT_EQ(place.line, "  run_s: 7");
  EXPECT_EQ(place.number, 4);
  EXPECT_EQ(place.column, 2u);
  EXPECT_EQ(source.Place("limits.compile_s").line, "limits:") << "the nearest section around it";
  EXPECT_EQ(source.Place("limits.total_s").name, "--set limits.total_s=9");
  EXPECT_EQ(source.Place("limits.total_s").line, "");
  EXPECT_EQ(source.Place("cost").line, "");
  EXPECT_EQ(source.Set("cost={").message().substr(0, 30), "--set cost={: not valid YAML: ");
}

TEST(YamlMessageTest, DefaultsAreGivenByNobody) {
  v1::FrontMatter message;
  YamlMessage source(&message);
  ASSERT_TRUE(source.MergeDefaults("limits: {run_s: 5, total_s: 30}", "defaults").ok());
  ASSERT_TRUE(source.Merge("limits: {run_s: 7}", "f.md", 2).ok());
  EXPECT_EQ(message.limits().run_s(), 7);
  EXPECT_EQ(message.limits().total_s(), 30);
  EXPECT_TRUE(source.Given("limits.run_s"));
  EXPECT_FALSE(source.Given("limits.total_s"));
}

TEST(YamlMessageTest, DialectsDiffer) {
  EXPECT_EQ(Error("cost: {flops: min(n, 2)}"),
            "f.md:2: unknown key 'cost.2)'; did you mean 'cost.flops'? Keys here: flops, bytes");
  EXPECT_EQ(Error("cost: {flops: min(n, 2)}", {.calls = true}), "");
  EXPECT_EQ(Error("cost: [", {.calls = true}), "f.md:2: a '{' or '[' opened here is never closed");
  EXPECT_EQ(Error("cost: {flops: 1, max(n, 2): 1}", {.calls = true}),
            "f.md:2: unknown key 'cost.max(n, 2)'; did you mean 'cost.flops'? Keys here: flops, "
            "bytes");
  EXPECT_EQ(Error("cost: {f64[3][n]: 1, flops[2: 1}", {.calls = true}),
            "f.md:2: a '{' or '[' opened here is never closed");
  EXPECT_EQ(Error("cost: {f64[3][n]: 1}", {.calls = true}),
            "f.md:2: unknown key 'cost.f64[3][n]'; did you mean 'cost.flops'? Keys here: flops, "
            "bytes");
  EXPECT_EQ(Error("cost:"), "");
  EXPECT_EQ(Error("cost:\nid: x", {.null_clears = false}),
            "f.md:2: 'cost' must be a map of keys, not empty");
  EXPECT_EQ(Error("limits: {run_s: '5'}"), "f.md:2: 'limits.run_s' must be a number, not '5'");
  EXPECT_EQ(Error("limits: {run_s: '5'}", {.quotes_matter = false}), "");
  EXPECT_EQ(Error("sizes: {check: [1, 2, 3]}", {.elements_max = 3}), "");
  EXPECT_EQ(Error("sizes: {check: [1, 2, 3, 4]}", {.elements_max = 3}),
            "f.md:2: 'sizes.check' has more than 3 elements");
}

}  // namespace
}  // namespace whetstone
