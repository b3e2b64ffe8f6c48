#include "coordinator/prompt/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace whetstone {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(SignatureTextTest, IsTheDefinitionsAsItIsWritten) {
  const struct {
    std::string code, want;
  } cases[] = {
      {"void f(const float* a, int n) {\n}", "void f(const float* a, int n)"},
      {"#include <math.h>\n\nvoid f(int n)\n{\n}", "void f(int n)"},
      {"void f(const float* a,\n       int n) {\n}", "void f(const float* a,\n       int n)"},
      {"void f(int n);\nvoid g(int n) { f(n); }\nstatic int f (int n) {}", "static int f (int n)"},
      {"void other_f(int n) {}\nvoid f2(int n) {}", ""},
      {"int f = 3;", ""},
      {"void f(int n", ""},
      {"", ""}};
  for (const auto& c : cases) EXPECT_EQ(SignatureText(c.code, "f"), c.want) << c.code;
}

TEST(RenderResponsePrefixTest, HasTheSignatureOfTheProblemsReference) {
  v1::Problem problem;
  problem.set_signature("void f(const float* a, int n)");
  problem.set_reference("#include <math.h>\n\nvoid f(const float *a, int n)\n{\n}");
  EXPECT_EQ(RenderResponsePrefix("```cpp\n{signature}", problem),
            "```cpp\nvoid f(const float *a, int n)");
  EXPECT_EQ(RenderResponsePrefix("```cpp", problem), "```cpp");
  problem.set_reference("auto f = [](const float*, int) {};");
  EXPECT_EQ(RenderResponsePrefix("{signature}", problem), "void f(const float* a, int n)")
      << "as the front matter has it, where the reference defines it in no usual way";
}

TEST(RenderHintedTest, EachSentenceEndsAPrompt) {
  const std::vector<v1::Message> plain = RenderMessages("", "int f();");
  EXPECT_THAT(RenderHinted(plain, {}), IsEmpty());
  const auto prompts = RenderHinted(plain, {"", "Try another loop order."});
  ASSERT_THAT(prompts, SizeIs(2));
  EXPECT_EQ(prompts[0][0].content(), plain[0].content());
  EXPECT_EQ(prompts[1][0].content(), plain[0].content() + "\nTry another loop order.");
}

}  // namespace
}  // namespace whetstone
