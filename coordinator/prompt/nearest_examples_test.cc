#include "coordinator/prompt/nearest_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace whetstone {
namespace {

using ::testing::ElementsAre;

const char kColumnSums[] =
    "void column_sums(const float* a, float* out, int rows, int cols) {\n"
    "  for (int j = 0; j < cols; j++) {\n"
    "    float s = 0;\n"
    "    for (int i = 0; i < rows; i++) s += a[i * cols + j];\n"
    "    out[j] = s;\n"
    "  }\n"
    "}";
const char kPopcount[] =
    "int ones(const uint64_t* words, int n) {\n"
    "  int found = 0;\n"
    "  for (int w = 0; w < n; w++) {\n"
    "    for (int b = 0; b < 64; b++) found += (words[w] >> b) & 1;\n"
    "  }\n"
    "  return found;\n"
    "}";
const char kScale[] =
    "void scale(float* a, int n) {\n"
    "  for (int i = 0; i < n; i++) a[i] = a[i] * 2;\n"
    "}";
// kColumnSums with other names, braces and a comment.
const char kSameWithOtherNames[] =
    "void total(const float* matrix, float* to, int height, int width) {\n"
    "  for (int x = 0; x < width; x++) {\n"
    "    float t = 0;  // of one column\n"
    "    for (int y = 0; y < height; y++) { t += matrix[y * width + x]; }\n"
    "    to[x] = t;\n"
    "  }\n"
    "}";

std::vector<WorkedExample> Examples(const std::vector<std::string>& functions) {
  std::vector<WorkedExample> examples;
  for (const std::string& function : functions) {
    examples.push_back({"e/" + std::to_string(examples.size()), "", function, "rewrite"});
  }
  return examples;
}

std::vector<std::string> Ids(const std::vector<WorkedExample>& examples) {
  std::vector<std::string> ids;
  for (const WorkedExample& example : examples) ids.push_back(example.id);
  return ids;
}

TEST(NearestExamplesTest, FindsTheSameFunctionUnderOtherNames) {
  const auto examples = Examples({kScale, kPopcount, kColumnSums});
  EXPECT_THAT(Ids(NearestExamples(examples, {kSameWithOtherNames}, 1)), ElementsAre("e/2"));
}

TEST(NearestExamplesTest, KeepsTheOrderOfTheFile) {
  const auto examples = Examples({kPopcount, kScale, kColumnSums});
  EXPECT_THAT(Ids(NearestExamples(examples, {kColumnSums}, 2)), ElementsAre("e/0", "e/2"))
      << "the nearest is the last";
}

TEST(NearestExamplesTest, TypesCount) {
  std::string of_doubles = kScale;
  of_doubles.replace(of_doubles.find("float"), 5, "double");
  const auto examples = Examples({of_doubles, kScale, kPopcount});
  EXPECT_THAT(Ids(NearestExamples(examples, {kScale}, 1)), ElementsAre("e/1"));
}

// All have the loop; what one alone shares with the function weighs more than what is in each.
TEST(NearestExamplesTest, WhatIsRareWeighsMore) {
  const std::string loop = "for (int i = 0; i < n; i++) { a[i] = a[i] + 1; }";
  const std::string common = "void f(int* a, int n) { " + loop + loop + " }";
  const auto examples =
      Examples({common, common, common, "void f(int* a, int n) { a[0] ^= a[1] << 3; }"});
  EXPECT_THAT(Ids(NearestExamples(
                  examples, {"void g(int* a, int n) { " + loop + " a[0] ^= a[1] << 3; }"}, 1)),
              ElementsAre("e/3"));
}

TEST(NearestExamplesTest, EveryFunctionTakesInTurn) {
  const auto examples =
      Examples({kPopcount, kColumnSums, kSameWithOtherNames, kColumnSums, kScale});
  EXPECT_THAT(Ids(NearestExamples(examples, {kColumnSums, kPopcount}, 2)),
              ElementsAre("e/0", "e/1"));
}

TEST(NearestExamplesTest, TheFirstOfSeveralThatAreAsNear) {
  const auto examples = Examples({kScale, kColumnSums, kSameWithOtherNames, kColumnSums});
  EXPECT_THAT(Ids(NearestExamples(examples, {kColumnSums}, 2)), ElementsAre("e/1", "e/2"));
}

TEST(NearestExamplesTest, TakesAllWhereThereAreNoMore) {
  const auto examples = Examples({kScale, kPopcount});
  EXPECT_THAT(Ids(NearestExamples(examples, {kColumnSums}, 9)), ElementsAre("e/0", "e/1"));
}

TEST(NearestExamplesTest, WhatHasNoBodyIsNearNothing) {
  const auto examples = Examples({"", "/* open", "void f();", kColumnSums});
  EXPECT_THAT(Ids(NearestExamples(examples, {kColumnSums}, 1)), ElementsAre("e/3"));
  EXPECT_EQ(NearestExamples(examples, {"x"}, 2).size(), 2u);
}

}  // namespace
}  // namespace whetstone
