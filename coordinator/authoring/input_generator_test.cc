#include "coordinator/authoring/input_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coordinator/authoring/problem_import.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kFollow[] = R"code(#include <vector>
struct Edge { int to; float weight; };
float follow(const Edge* edges, const float* bias, int n) {
  std::vector<int> seen(n);
  float sum = 0;
  for (int at = 0; !seen[at]; at = edges[at].to) {
    seen[at] = 1;
    sum += edges[at].weight + bias[at];
  }
  return sum;
}
)code";

constexpr char kCircle[] = R"code(#include <cstdlib>
struct Edge { int to; float weight; };
static unsigned Draw(unsigned long long* seed) { return (*seed = *seed * 25214903917 + 11) >> 16; }
// bias is drawn.
void generate(Edge* to, float* bias, int n, unsigned long long seed) {
  for (int i = 0; i < n; ++i) to[i] = {(i + 1) % n, Draw(&seed) % 8 / 4.0f};
}
)code";

ImportedFunction Follow() {
  const absl::StatusOr<CppSource> source = ReadCppSource(kFollow, "follow.cc");
  return *FindImportedFunction(*source, kFollow, "follow.cc", "");
}

TEST(InputGeneratorTest, FillsTheArraysThatItNames) {
  const auto generator = ReadInputGenerator(kCircle, "circle.cc", {"vector"}, Follow());
  ASSERT_TRUE(generator.ok()) << generator.status();
  EXPECT_THAT(generator->writes, ElementsAre("edges"));
  EXPECT_THAT(generator->headers, ElementsAre("vector", "cstdlib"));
  EXPECT_THAT(generator->code, Not(HasSubstr("struct Edge")));
}

TEST(InputGeneratorTest, SaysHowItMustBeDeclared) {
  const std::string wanted =
      "void generate(Edge* edges, float* bias, int n, unsigned long long seed)";
  for (const std::string code : {
           "void make(int n) {}",
           "void generate(Edge* edges, float* bias, int n) {}",
           "int generate(Edge* edges, float* bias, int n, unsigned long long seed) {}",
           "void generate(const Edge* edges, float* bias, int n, unsigned long long seed) {}",
           "void generate(Edge* edges, double* bias, int n, unsigned long long seed) {}",
           "void generate(Edge* edges, float* bias, int n, unsigned seed) {}",
           "void generate(Node* edges, float* bias, int n, unsigned long long seed) {}",
       }) {
    const auto generator = ReadInputGenerator(code, "circle.cc", {}, Follow());
    ASSERT_TRUE(absl::IsInvalidArgument(generator.status())) << code;
    EXPECT_THAT(std::string(generator.status().message()), HasSubstr("circle.cc:1"));
    EXPECT_THAT(std::string(generator.status().message()), HasSubstr(wanted));
  }
}

TEST(InputGeneratorTest, AnImportHasItAndNoFillsForWhatItFills) {
  ImportRequest request{.code = kFollow,
                        .name = "follow.cc",
                        .generator = kCircle,
                        .generator_name = "circle.cc",
                        .answer = [](const ImportQuestion& question) {
                          if (question.key == "timed") return std::string("200");
                          return question.suggestion.empty() ? "A walk." : question.suggestion;
                        }};
  const auto made = ImportProblem(request);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto problem = ParsePrompt(made->text, "follow.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->generator(), HasSubstr("void generate(Edge* to"));
  EXPECT_THAT(made->text, HasSubstr("  edges: {type: Edge, shape: [n]}\n"));
  EXPECT_THAT(made->text, HasSubstr("  bias: {type: f32, shape: [n], fill: uniform(-1, 1)}\n"));
  EXPECT_THAT(made->text, HasSubstr("headers: [vector, cstdlib]"));
}

TEST(InputGeneratorTest, IsProposedWhereLengthsAreNotFound) {
  std::string asked;
  ImportRequest request{.code = "void f(const int* next, float* out, int n, int m) {}",
                        .name = "f.cc",
                        .look =
                            [](const auto&, const auto&, const InputGenerator*) {
                              ImportHints hints;
                              hints.why_no_extents = "it crashed";
                              return hints;
                            },
                        .answer =
                            [&](const ImportQuestion& question) {
                              if (question.key == "next.shape") asked = question.text;
                              return question.suggestion.empty() ? "n" : question.suggestion;
                            }};
  EXPECT_FALSE(ImportProblem(request).ok());  // "n" is no size to time it at
  EXPECT_THAT(asked, HasSubstr("it crashed; inputs that must fit together a function of yours "
                               "makes: --generator FILE with 'void generate(int* next, float* out, "
                               "int n, int m, unsigned long long seed)'"));
}

}  // namespace
}  // namespace whetstone
