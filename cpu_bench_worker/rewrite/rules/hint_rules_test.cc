// Tests of hints for the compiler.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RewriteTest, FloatingPointMayRoundOtherwise) {
  const std::string sum =
      "float f(const float* a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return "
      "s; }";
  EXPECT_THAT(By("sums in any order", sum),
              HasSubstr("#pragma GCC optimize(\"fast-math\", \"no-finite-math-only\") float f("));
  EXPECT_THAT(By("no traps", sum),
              HasSubstr("#pragma GCC optimize(\"no-math-errno\", \"no-trapping-math\") float f("));
  EXPECT_THAT(Rules("#pragma GCC optimize(\"no-math-errno\", \"no-trapping-math\")\n" + sum),
              AllOf(Not(Contains("no traps")), Not(Contains("sums in any order")),
                    Contains("unrolled loops")));
  EXPECT_THAT(Rules("float f(const float* a) { return a[0] + 1; }"), Not(Contains("no traps")));
}

TEST_F(RewriteTest, InnermostLoopsAreUnrolledByAPragma) {
  const std::string rule = "8 turns by a pragma";
  EXPECT_THAT(By(rule,
                 "int f(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) { int j = i; "
                 "while (a[j] > 0) j++; s += j; } do s--; while (s > n); return s; }"),
              HasSubstr("i++) { int j = i; #pragma GCC unroll 8 while (a[j] > 0) j++; s += j; } "
                        "#pragma GCC unroll 8 do s--;"));
  EXPECT_EQ(By(rule, "int f(int n) {\n#pragma GCC unroll 4\nwhile (n > 9) n /= 2;\nreturn n; }"),
            "");
  EXPECT_EQ(By(rule, "int f(int n) { return n; }"), "");
  EXPECT_THAT(
      By(rule,
         "int f(int n) { for (;;) { if (n < 9) break; n /= 2; } while (n > 3) n--; return n; }"),
      AllOf(HasSubstr("{ for (;;) {"), HasSubstr("#pragma GCC unroll 8 while")));
  EXPECT_THAT(By(rule,
                 "int f(int n) {\n#pragma GCC ivdep\nfor (int i = 0; i < 4; i++) n += i;\nwhile (n "
                 "> 3) n--; "
                 "return n; }"),
              AllOf(HasSubstr("ivdep for"), HasSubstr("unroll 8 while")));
  EXPECT_EQ(By(rule,
               "#define IN while (n > 9) n--\nint f(int n) { for (int i = 0; i < 4; i++) { IN; } "
               "return n; }"),
            "");
  EXPECT_EQ(By(rule, "#define LATER for (;;)\nint f(int n) { LATER return n; }"), "");
  EXPECT_THAT(
      By(rule,
         "static int g(int n) { while (n > 9) n /= 2; return n; } int f(int n) { return g(n); }"),
      HasSubstr("#pragma GCC unroll 8"));
}

TEST_F(RewriteTest, LoopsThatWriteToMemoryMayHaveIndependentTurns) {
  const std::string rule = "independent turns by a pragma";
  EXPECT_THAT(By(rule,
                 "void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) { int s = 0; "
                 "for (int j = 0; j < i; j++) s += a[j]; b[i] = s; } for (int i = 1; i < n; i++) "
                 "b[i] += b[a[i]]; }"),
              AllOf(HasSubstr("{ for (int i = 0"), HasSubstr("s = 0; for (int j = 0"),
                    HasSubstr("} #pragma GCC ivdep for (int i = 1; i < n; i++)")));
  EXPECT_THAT(By(rule, "void f(int* b, int n) { for (int i = 0; i < n; i++) (b[i])++; }"),
              HasSubstr("#pragma GCC ivdep for"));
  EXPECT_EQ(
      By(rule, "int f(const int* a, int n) { int s = 0; while (n > 0) s += a[--n]; return s; }"),
      "");
}

TEST_F(RewriteTest, ArraysMayBeSaidNotToOverlap) {
  const std::string rule = "arrays that do not overlap";
  const std::string body = " { for (int i = 0; i < n; i++) b[i] = a[i]; }";
  EXPECT_EQ(By(rule, "void f(const int* a, int *b, int n)" + body),
            "void f(const int* __restrict a, int *__restrict b, int n)" + body);
  EXPECT_EQ(By(rule, "void f(const int* __restrict a, int* b, int n)" + body),
            "void f(const int* __restrict a, int* __restrict b, int n)" + body);
  EXPECT_EQ(By(rule, "void f(const int* __restrict a, int* __restrict b, int n)" + body), "");
  EXPECT_EQ(By(rule, "void f(const int a[], int* b, int n)" + body), "") << "one it is";
  EXPECT_EQ(
      By(rule, "int f(const int* a, const int* b, int n) { while (a[n] < b[n]) n--; return n; }"),
      "")
      << "nothing is written";
  EXPECT_EQ(By(rule, "void f(const int* a, int* b) { b[0] = a[0]; }"), "");
}

TEST_F(RewriteTest, ProgramsAreOptimizedOtherwise) {
  const std::string loop = "int f(int n) { while (n > 9) n /= 2; return n; }";
  EXPECT_THAT(By("unrolled loops", loop),
              HasSubstr("#pragma GCC optimize(\"unroll-loops\") int f("));
  EXPECT_THAT(By("optimized less", loop), HasSubstr("#pragma GCC optimize(\"O2\") int f("));
  const std::vector<std::string> again = Rules("#pragma GCC optimize(\"unroll-loops\")\n" + loop);
  EXPECT_THAT(again, AllOf(Not(Contains("unrolled loops")), Contains("optimized less")));
  EXPECT_THAT(Rules("#pragma GCC optimize(\"O3\")\n" + loop), Not(Contains("optimized less")));
  EXPECT_THAT(Rules("#pragma GCC optimize(\"O2\")\n" + loop), Not(Contains("unrolled loops")));
  EXPECT_THAT(Rules(loop), Not(Contains("no traps")));
  EXPECT_THAT(Rules("int f(int n) { return n; }"), Not(Contains("unrolled loops")));
}

}  // namespace
}  // namespace whetstone
