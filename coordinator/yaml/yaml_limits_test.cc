#include "coordinator/yaml/yaml_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "whetstone/v1/front_matter.pb.h"

namespace whetstone {
namespace {

constexpr char kWithinLimits[] =
    "compile: {std: c++20, threads: 1}\n"
    "limits: {compile_s: 1, run_s: 2, memory_mb: 3, total_s: 4}\n";

// Returns what CheckLimits says about `yaml`, which begins on line 2 of f.md, over such defaults.
std::string LimitError(absl::string_view yaml) {
  v1::FrontMatter message;
  YamlMessage source(&message);
  EXPECT_TRUE(source.MergeDefaults(kWithinLimits, "defaults").ok());
  const absl::Status merged = source.Merge(yaml, "f.md", 2);
  return std::string((merged.ok() ? CheckLimits(source) : merged).message());
}

TEST(YamlLimitsTest, ANumberHasBounds) {
  EXPECT_EQ(LimitError("limits: {run_s: 5}\ncompare: {rtol: 0}"), "");
  EXPECT_EQ(LimitError("limits: {run_s: 5}\ncompare: {rtol: 1}"),
            "f.md:3: 'compare.rtol' must be at least 0 and below 1, not 1");
  EXPECT_EQ(LimitError("id: x\ncompare:\n  rtol: -0.5"),
            "f.md:4: 'compare.rtol' must be at least 0 and below 1, not -0.5");
  EXPECT_EQ(LimitError("limits: {memory_mb: 65537}"),
            "f.md:2: 'limits.memory_mb' must be 1 to 65536, not 65537");
}

TEST(YamlLimitsTest, ATextIsOneOfItsWords) {
  EXPECT_EQ(LimitError("compile: {std: c++23, compiler: clang++}"), "");
  EXPECT_EQ(LimitError("compile: {std: c++2}"),
            "f.md:2: 'compile.std' must be one of c++17, c++20, c++23, not 'c++2'; did you mean "
            "'c++20'?");
  EXPECT_EQ(LimitError("compile: {compiler: ''}"),
            "f.md:2: 'compile.compiler' must be one of g++, clang++, not ''; did you mean 'g++'?");
  EXPECT_EQ(LimitError("compile: {allow: [static, pragmas]}"),
            "f.md:2: 'compile.allow[1]' must be one of target, pragma, static, asm, threads, not "
            "'pragmas'; did you mean 'pragma'?");
}

TEST(YamlLimitsTest, OnlyWhatIsOptionalMayBeTakenOut) {
  EXPECT_EQ(LimitError("compile: {compiler: null}"), "");
  EXPECT_EQ(LimitError("compile: {std: null}"),
            "f.md:2: 'compile.std' must be one of c++17, c++20, c++23, not ''; did you mean "
            "'c++17'?");
  EXPECT_EQ(LimitError("limits: null"), "f.md:2: 'limits.compile_s' must be 0.001 to 3600, not 0");
}

TEST(YamlLimitsTest, TheLastSourceCounts) {
  v1::FrontMatter message;
  YamlMessage source(&message);
  ASSERT_TRUE(source.MergeDefaults(kWithinLimits, "defaults").ok());
  ASSERT_TRUE(source.Merge("compile: {std: c++2}", "f.md").ok());
  ASSERT_TRUE(source.Set("compile.std=c++23").ok());
  EXPECT_TRUE(CheckLimits(source).ok()) << CheckLimits(source);
  ASSERT_TRUE(source.Set("compile.threads=0").ok());
  EXPECT_EQ(CheckLimits(source).message(),
            "--set compile.threads=0: 'compile.threads' must be 1 to 64, not 0");
}

}  // namespace
}  // namespace whetstone
