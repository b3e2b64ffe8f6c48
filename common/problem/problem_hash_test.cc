#include "common/problem/problem_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace whetstone {
namespace {

v1::Problem WithSizes(const std::vector<std::string>& order) {
  v1::Problem problem;
  problem.set_id("p");
  auto* values = problem.mutable_sizes()->add_check()->mutable_values();
  for (const std::string& name : order) (*values)[name] = 7;
  return problem;
}

TEST(ProblemHashTest, DoesNotDependOnTheOrderOfMapEntries) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) names.push_back("v" + std::to_string(i));
  const std::string hash = ProblemHash(WithSizes(names));
  EXPECT_EQ(hash, ProblemHash(WithSizes({names.rbegin(), names.rend()})));
  EXPECT_EQ(hash.size(), 64u);
}

TEST(ProblemHashTest, ChangesWithEveryField) {
  v1::Problem problem = WithSizes({"n"});
  const std::string hash = ProblemHash(problem);
  (*problem.mutable_sizes()->mutable_check(0)->mutable_values())["n"] = 8;
  const std::string other_size = ProblemHash(problem);
  problem.set_reference("void f() {}");
  EXPECT_NE(hash, other_size);
  EXPECT_NE(other_size, ProblemHash(problem));
}

// This test pins the bytes: a change here invalidates journals and verdict caches of earlier
// versions.
TEST(ProblemHashTest, IsTheHashOfTheWireFormat) {
  v1::Problem problem;
  problem.set_id("p");
  // The message is the bytes 0a 01 70: field 1, length 1, 'p'.
  EXPECT_EQ(ProblemHash(problem),
            "21faf689cb03da7df663a215b8d17862ba4c535034c6aebd32edfc41ea623a35");
}

}  // namespace
}  // namespace whetstone
