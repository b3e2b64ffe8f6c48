#include "coordinator/rewrites/rewriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using testing::HasSubstr;

v1::Problem Scaled() {
  v1::Problem problem;
  problem.set_id("scaled");
  problem.set_signature("void scaled(const float* a, float* b, int n)");
  problem.mutable_compile()->set_std("c++20");
  problem.mutable_compile()->add_flags("-O3");
  problem.mutable_compile()->add_headers("math.h");
  return problem;
}

constexpr char kNested[] = R"(void scaled(const float* a, float* b, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            b[j * n + i] = sqrtf(a[j * n + i]);
        }
    }
}
)";

// Asks the real program, with the problem's headers.
TEST(RewriterTest, AnswersForEachSource) {
  auto rewriter = Rewriter::Make(Scaled());
  ASSERT_TRUE(rewriter.ok()) << rewriter.status();
  for (int again = 0; again < 2; ++again) {
    const auto proposed = rewriter->Propose({kNested, "void scaled(int) { not C++ }", kNested}, {});
    ASSERT_TRUE(proposed.ok()) << proposed.status();
    ASSERT_EQ(proposed->size(), 3u);
    ASSERT_FALSE((*proposed)[0].empty());
    EXPECT_EQ((*proposed)[0][0].rule, "exchanged loops");
    EXPECT_THAT((*proposed)[0][0].source,
                HasSubstr("for (int j = 0; j < n; j++) {\n        for (int i"));
    EXPECT_TRUE((*proposed)[1].empty());
    EXPECT_EQ((*proposed)[2].size(), (*proposed)[0].size());
  }
}

TEST(RewriterTest, HeadersThatClangRefusesAreTheProblems) {
  v1::Problem problem = Scaled();
  problem.mutable_compile()->add_headers("no_such_header.h");
  auto rewriter = Rewriter::Make(problem);
  ASSERT_TRUE(rewriter.ok()) << rewriter.status();
  const auto proposed = rewriter->Propose({kNested}, {});
  EXPECT_EQ(proposed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(proposed.status().message()), HasSubstr("no_such_header.h"));
}

TEST(RewriterTest, SaysWhyAFunctionCannotBeRewritten) {
  auto rewriter = Rewriter::Make(Scaled());
  ASSERT_TRUE(rewriter.ok()) << rewriter.status();
  const auto proposed = rewriter->Propose({"void other(int n) { n = 1; }"}, {});
  EXPECT_EQ(proposed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(proposed.status().message()),
              HasSubstr("scaled: rules cannot rewrite the function: no function 'scaled'"));
}

TEST(RewriterTest, CanBeCancelled) {
  auto rewriter = Rewriter::Make(Scaled());
  ASSERT_TRUE(rewriter.ok()) << rewriter.status();
  const auto proposed = rewriter->Propose({kNested}, [] { return true; });
  EXPECT_EQ(proposed.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace whetstone
