#include "cpu_bench_worker/build/shim.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

TEST(ShimTest, FindsTheFunctionsName) {
  EXPECT_EQ(*FunctionName("void matmul(const float* a, int n)"), "matmul");
  EXPECT_EQ(*FunctionName("std::uint32_t  f_2 (int)"), "f_2");
  EXPECT_FALSE(FunctionName("void matmul").ok());
  EXPECT_FALSE(FunctionName("(int)").ok());
  EXPECT_FALSE(FunctionName("void 2f(int)").ok());
}

TEST(ShimTest, DeclaresWhatEachRoleCalls) {
  const v1::Problem problem = PartitionProblem();
  const auto arguments = Arguments::Parse(problem);
  ASSERT_TRUE(arguments.ok());
  const auto source = [&](CallRole role) {
    return *ShimSource(problem.signature(), *arguments, role);
  };
  EXPECT_TRUE(absl::StrContains(source(CallRole::kKernel), "Call(&::partition, row)"));
  EXPECT_TRUE(absl::StrContains(source(CallRole::kGenerator),
                                "void(Mutable<P<0>>::type, Mutable<P<1>>::type, "
                                "Mutable<P<2>>::type, unsigned long long)"));
  EXPECT_TRUE(absl::StrContains(source(CallRole::kChecker),
                                "bool(Const<P<0>>::type, Const<P<0>>::type, Const<P<1>>::type, "
                                "Const<P<2>>::type, Signature::Returned)"))
      << "an in-out array twice, the returned value last";
}

TEST(ShimTest, HoldsTheCompilerToTheLayoutOfStructs) {
  const v1::Problem problem = DriftProblem();
  const auto arguments = Arguments::Parse(problem);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const std::string source = *ShimSource(problem.signature(), *arguments, CallRole::kKernel);
  for (const char* part :
       {"std::is_same_v<std::remove_const_t<std::remove_pointer_t<P<0>>>, ::Body>",
        "__builtin_offsetof(::Body, mass) == 8",
        "std::is_same_v<P<3>, ::Step> && sizeof(P<3>) == 12",
        "std::is_same_v<Signature::Returned, ::Moved> && sizeof(Signature::Returned) == 16"})
    EXPECT_TRUE(absl::StrContains(source, part)) << part;
}

TEST(ShimTest, HoldsTheCompilerToTheLayoutOfArraysInStructs) {
  v1::Problem problem = DriftProblem();
  problem.mutable_structs(0)->mutable_fields(2)->add_extents(2);
  problem.mutable_structs(0)->mutable_fields(2)->add_extents(3);
  const auto arguments = Arguments::Parse(problem);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const std::string source = *ShimSource(problem.signature(), *arguments, CallRole::kKernel);
  EXPECT_TRUE(absl::StrContains(source, "__builtin_offsetof(::Body, mass[1][2]) == 48"));
  EXPECT_TRUE(absl::StrContains(source, "__builtin_offsetof(::Body, id) == 56"));
}

}  // namespace
}  // namespace whetstone
