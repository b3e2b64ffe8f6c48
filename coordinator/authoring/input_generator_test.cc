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

ImportedFunction FunctionOf(const std::string& code) {
  const absl::StatusOr<CppSource> source = ReadCppSource(code, "follow.cc");
  return *FindImportedFunction(*source, code, "follow.cc", "");
}

TEST(InputGeneratorTest, IsReadWithWhatItIncludes) {
  const auto generator =
      ReadInputGenerator({"circle.cc", kCircle}, {"vector"}, FunctionOf(kFollow));
  ASSERT_TRUE(generator.ok()) << generator.status();
  EXPECT_THAT(generator->headers, ElementsAre("vector", "cstdlib"));
  EXPECT_THAT(generator->code, Not(HasSubstr("struct Edge")));
}

TEST(InputGeneratorTest, SaysHowItMustBeDeclared) {
  const std::string wanted =
      "void generate(Edge* edges, float* bias, int n, unsigned long long seed)";
  for (const std::string code : {
           "",
           "void make(int n) {}",
           "static void generate(Edge* e, float* bias, int n, unsigned long long seed) {}",
           "void generate(Edge* edges, float* bias, int n) {}",
           "int generate(Edge* edges, float* bias, int n, unsigned long long seed) {}",
           "void generate(const Edge* edges, float* bias, int n, unsigned long long seed) {}",
           "void generate(Edge* edges, double* bias, int n, unsigned long long seed) {}",
           "void generate(Edge* edges, float* bias, int n, unsigned seed) {}",
           "void generate(Node* edges, float* bias, int n, unsigned long long seed) {}",
       }) {
    const auto generator = ReadInputGenerator({"circle.cc", code}, {}, FunctionOf(kFollow));
    ASSERT_TRUE(absl::IsInvalidArgument(generator.status())) << code;
    EXPECT_THAT(std::string(generator.status().message()), HasSubstr("circle.cc:1"));
    EXPECT_THAT(std::string(generator.status().message()), HasSubstr(wanted));
  }
  const auto other = ReadInputGenerator({"circle.cc", "\nstruct Edge { float weight; int to; };"},
                                        {}, FunctionOf(kFollow));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("circle.cc:2: struct Edge"));
}

TEST(InputGeneratorTest, TheSeedHasANameOfItsOwn) {
  const ImportedFunction function = FunctionOf("int f(const char* s, int n, unsigned seed) {}");
  const std::string head = GeneratorHead(function.signature);
  EXPECT_THAT(head, HasSubstr("unsigned int seed, unsigned long long seed_)"));
  EXPECT_TRUE(ReadInputGenerator({"g.cc", head + " {}"}, {}, function).ok());
}

TEST(InputGeneratorTest, AFunctionWithItsInputsReturnsWhatItReturns) {
  const ImportedFunction function = FunctionOf("int f(const char* f, int n) { return f[n]; }");
  const SelfSufficient made = WithItsInputs("CODE", function, {.code = "GENERATOR", .headers = {}});
  EXPECT_EQ(made.function.text, "int whet_with_inputs(char* f, int n, double whet_drawn)");
  EXPECT_FALSE(made.function.signature.parameters[0].is_const);
  EXPECT_THAT(made.code, HasSubstr("::whet_inputs::generate(f, n, whet_seed >> 1);"));
  EXPECT_THAT(made.code, HasSubstr("return ::f(f, n);"));
}

TEST(InputGeneratorTest, AnImportHasIt) {
  const ImportRequest request{.code = kFollow,
                              .name = "follow.cc",
                              .generator = GivenGenerator{"circle.cc", kCircle},
                              .answer = [](const ImportQuestion& question) {
                                if (question.key == "timed") return std::string("200");
                                return question.suggestion.empty() ? "A walk."
                                                                   : question.suggestion;
                              }};
  const auto made = ImportProblem(request);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto problem = ParsePrompt(made->text, "follow.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->generator(), HasSubstr("void generate(Edge* to"));
  EXPECT_THAT(made->text, HasSubstr("headers: [vector, cstdlib]"));
}

}  // namespace
}  // namespace whetstone
