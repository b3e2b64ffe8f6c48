// Rules of where variables are declared.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const char kDeclaredWhereSet[] = "declared where set";

std::string Doing(const std::string& body) {
  return "int put(float* at); void f(const float* a, float* out, int n) { " + body + " }";
}

TEST_F(RewriteTest, AVariableIsDeclaredWhereItIsSet) {
  // Twice one after the other, and one of a turn; what nobody sets stays.
  EXPECT_THAT(By(kDeclaredWhereSet,
                 Doing("int i, j; float t; for (i = 0; i < n; i++) { t = a[i]; out[i] = t * t; } "
                       "for (i = 0; i < n; i++) out[i] += 1;")),
              HasSubstr("{ int j; for (int i = 0; i < n; i++) { float t = a[i]; out[i] = t * t; } "
                        "for (int i = 0; i < n; i++) out[i] += 1; }"));
  // One of several stays, with what it begins with; loops below loops, without braces.
  EXPECT_THAT(By(kDeclaredWhereSet, Doing("int i, k = 3, j; for (i = 0; i < n; i++) for (j = 0; j "
                                          "< n; j++) out[i * n + j] = a[k];")),
              HasSubstr("{ int k = 3; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
                        "out[i * n + j] = a[k]; }"));
  EXPECT_THAT(By(kDeclaredWhereSet, Doing("float t; if (n > 3) { t = a[0]; out[0] = t; } else if "
                                          "(n > 2) { t = a[1]; out[1] = t * t; }")),
              HasSubstr("{ if (n > 3) { float t = a[0]; out[0] = t; } else if (n > 2) { float t = "
                        "a[1]; out[1] = t * t; } }"));
  // What it begins with is never read.
  EXPECT_THAT(By(kDeclaredWhereSet,
                 Doing("int t = 0; for (int i = 0; i < n; i++) { t = i * 2; out[i] = t; }")),
              HasSubstr("{ for (int i = 0; i < n; i++) { int t = i * 2; out[i] = t; } }"));
  // One that goes on behind a loop, set again by one further on.
  EXPECT_THAT(By(kDeclaredWhereSet,
                 Doing("float s; s = 0; for (int i = 0; i < n; i++) s += a[i]; out[0] = s; for "
                       "(int i = 0; i < n; i++) { s = a[i]; out[i] = s; }")),
              HasSubstr("{ float s = 0; for (int i = 0; i < n; i++) s += a[i]; out[0] = s; for "
                        "(int i = 0; i < n; i++) { float s = a[i]; out[i] = s; } }"));
  // One in the block of a loop, which hides one of its name.
  EXPECT_THAT(By(kDeclaredWhereSet,
                 Doing("float k = a[0]; for (int i = 0; i < n; i++) { int k; for (k = 0; k < 3; "
                       "k++) out[k] = 1; } out[0] = k;")),
              AllOf(HasSubstr("float k = a[0];"), HasSubstr("{ for (int k = 0; k < 3; k++)")));
  // A loop within, whose counter has the same name.
  EXPECT_THAT(By(kDeclaredWhereSet, Doing("int k; for (k = 0; k < n; k++) { for (int k = 0; k < 3; "
                                          "k++) out[k] = 1; out[k] = 2; }")),
              HasSubstr("for (int k = 0; k < n; k++) { for (int k = 0; k < 3; k++) out[k] = 1;"));
  EXPECT_THAT(Rules(Doing("int i, j; for (i = 0; i < n; i++) for (j = 0; j < n; j++) out[i * n + "
                          "j] += a[j];")),
              Contains("declared where set, then exchanged loops"));
}

TEST_F(RewriteTest, AVariableWhoseValueGoesOnIsNotDeclaredAnew) {
  for (const char* body :
       {// From turn to turn, and out of a loop.
        "float t = 0; for (int i = 0; i < n; i++) { out[i] = t; t = a[i]; }",
        "float t = 0; for (int i = 0; i < n; i++) { if (a[i] > 0) { t = a[i]; } out[i] = t; }",
        "float t = 0; for (int i = 0; i < n; i++) { if (a[i] > 0) t = a[i]; out[i] = t; }",
        "int i; for (i = 0; i < n; i++) if (a[i] > 0) break; out[0] = i;",
        "float t = 1; for (int i = 0; i < n; i++) { t = t * a[i]; out[i] = t; }",
        "int k = 0; for (int i = 0; i < n; i += k) { k = i + 1; out[i] = k; }",
        "int k = 0; do { k = n - 1; out[k] = 1; } while (k > n);",
        "int k = 3; while (int left = n - k) { k = 2; out[left] = k; }",
        "float t = 1; if (float u = t) { t = a[0]; out[0] = t + u; }",
        // Others may know it.
        "float t; float* p = &t; for (int i = 0; i < n; i++) { t = a[i]; out[i] = *p + t; }",
        "float t; for (int i = 0; i < n; i++) { t = a[i]; put(&t); out[i] = t; }",
        "float t; float& r = t; for (int i = 0; i < n; i++) { t = a[i]; out[i] = t; }",
        "float t; auto g = [&] { return t; }; for (int i = 0; i < n; i++) { t = a[i]; out[i] = "
        "g(); }",
        // Nothing can be declared there.
        "int k; if (n > 3) k = 3; for (int i = 0; i < n; i++) out[i] = 1;",
        "int k, j; for (k = 0, j = 0; k < n; k++) out[k] = j;",
        "int k; for (k = 0; k < n; k++) { int k = 3; out[k] = 1; }",
        "switch (n) { int t; case 0: out[0] = 1; t = 3; out[1] = t; break; case 1: out[2] = 1; }",
        "int t; again: t = n; out[0] = t; if (out[1] > 0) goto again;",
        // What it begins with does something; it is there for good.
        "int t = put(out); for (int i = 0; i < n; i++) { t = i; out[i] = t; }",
        "static int t; for (int i = 0; i < n; i++) { t = i; out[i] = t; }",
        "volatile int t; for (int i = 0; i < n; i++) { t = i; out[i] = t; }"})
    EXPECT_EQ(By(kDeclaredWhereSet, Doing(body)), "") << body;
  // The other one of a statement.
  EXPECT_THAT(By(kDeclaredWhereSet, Doing("float t, s = 0; for (int i = 0; i < n; i++) { t = a[i]; "
                                          "s += t; } out[0] = s;")),
              AllOf(HasSubstr("{ float s = 0; for"), HasSubstr("{ float t = a[i]; s += t; }"),
                    Not(HasSubstr("float t;"))));
}

}  // namespace
}  // namespace whetstone
