#include "coordinator/authoring/unwrapped_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

UnwrappedSource Outside(const std::string& code) { return Unwrapped(code, ""); }

TEST(UnwrappedSourceTest, WhatIsInANamespaceIsTakenOut) {
  const UnwrappedSource made = Outside(
      "namespace a::b {\nstruct P { int x; };\nnamespace {\nint g(P p) { return p.x; }\n}\n}  // "
      "b\n"
      "inline namespace c { int h(const a::b::P& p) { return std::abs(b::g(p)); } }\n"
      "using namespace a::b;\nint f(b::P p) { return c::h(p) + ::a::b::g(p); }\n");
  EXPECT_EQ(made.code,
            "\nstruct P { int x; };\nnamespace {\nint g(P p) { return p.x; }\n}\n  // b\n"
            " static int h(const P& p) { return std::abs(::g(p)); } \n"
            "\nint f(P p) { return ::h(p) + ::g(p); }\n");
  EXPECT_THAT(made.changes, ElementsAre("what was in namespace 'a::b' is outside of it",
                                        "what was in namespace 'c' is outside of it"));
}

TEST(UnwrappedSourceTest, ATemplateOfOneTypeGetsIt) {
  const UnwrappedSource made = Outside(
      "template <typename T>\nstruct P { T x; };\n"
      "template <class T> static T g(const P<T>& p) { return p.x < T(3) ? p.x : T{}; }\n"
      "template <typename T>\nT f(const std::vector<P<T>>& p, T n) { return g<T>(p[0]) + n; }\n"
      "template float f<float>(const std::vector<P<float>>&, float);\n");
  EXPECT_EQ(made.code,
            "\nstruct P { float x; };\n"
            " static float g(const P& p) { return p.x < float(3) ? p.x : float{}; }\n"
            "\nfloat f(const std::vector<P>& p, float n) { return g(p[0]) + n; }\n\n");
  EXPECT_THAT(made.changes, ElementsAre("'T' of 'f' is float"));
  EXPECT_EQ(Outside("template <std::integral I> I f(I a) { return a; }").code,
            " int f(int a) { return a; }");
  EXPECT_EQ(Outside("template <typename Real> void f(Real* a, int n) { a[n] = Real(1); }").code,
            " void f(double* a, int n) { a[n] = double(1); }");
}

TEST(UnwrappedSourceTest, TheOnlyFunctionThatNobodyCallsIsVisible) {
  EXPECT_EQ(
      Outside("static int g(int a) { return a; }\nstatic inline int f(int a) { return g(a); }")
          .code,
      "static int g(int a) { return a; }\n              int f(int a) { return g(a); }");
  EXPECT_EQ(Outside("int g(int a) { return a; }\nint f(int a) { return g(a); }").code,
            "static int g(int a) { return a; }\nint f(int a) { return g(a); }");
  EXPECT_EQ(Unwrapped("int g(int a) { return a; }\nstatic int f(int a) { return a; }", "f").code,
            "static int g(int a) { return a; }\n       int f(int a) { return a; }");
  const std::string two = "static int g(int a) { return a; }\nstatic int f(int a) { return a; }\n";
  EXPECT_EQ(Outside(two).code, two);
}

TEST(UnwrappedSourceTest, NamesKeepTheirMeaning) {
  EXPECT_EQ(
      Outside("#include <cmath>\n\nnamespace cfg { constexpr int width = 64; }\nint f(int width) "
              "{ return cfg::width * width; }")
          .code,
      "#include <cmath>\n\n constexpr int width = 64; \nint f(int width) { return ::width * "
      "width; }");
  for (const char* code :
       {"namespace m { float exp(float x) { return x; } }\nfloat f(double d) { return m::exp(d); }",
        "namespace a { double g(double x) { return x; } }\nnamespace b { int g(int x) { return x; "
        "} }\n"
        "double f(int x) { return a::g(x) + b::g(x); }"})
    EXPECT_THAT(Outside(code).changes, IsEmpty()) << code;
  // A template that others call is theirs.
  const std::string helper =
      "template <class T> T up(T a, T b) { return (a + b - 1) / b; }\n"
      "int f(const int* x, int n) { return up(x[0], n); }";
  EXPECT_EQ(Outside(helper).code, helper);
  const std::string two =
      "template <class T> struct V { T x; };\n"
      "template <class T> T f(const V<T>& a, const V<int>& b) { return a.x + b.x; }";
  EXPECT_EQ(Outside(two).code, two);
  EXPECT_EQ(Outside("int g(int);\nint f(int a) { return g(a); }\nint g(int a) { return a; }").code,
            "int g(int);\nint f(int a) { return g(a); }\nint g(int a) { return a; }");
}

TEST(UnwrappedSourceTest, AliasesAreWrittenOut) {
  EXPECT_EQ(
      Outside("using Row = std::vector<int>;\nint f(const Row& r) { Row s(3); return s[0]; }").code,
      "\nint f(const std::vector<int>& r) { std::vector<int> s(3); return s[0]; }");
  for (const char* code :
       {"using ll = long long; long f(int a) { return ll(a) * 2; }",
        "using M = double[9]; int f(int a) { M t; return a; }",
        "template <class T> using V = std::vector<T>; int f(V<int> a) { return 1; }"})
    EXPECT_EQ(Outside(code).code, code);
}

TEST(UnwrappedSourceTest, WhatIsOfAnotherKindStays) {
  for (const char* code :
       {"namespace { int f(int a) { return a; } }",
        "namespace x = std::chrono; int f(int a) { return a; }",
        "template <int N> int f(int a) { return a + N; }",
        "template <typename T, int N> T f(T a) { return a + N; }",
        "template <typename T> T f(T a) { return a; }\ntemplate int f<int>(int);\n"
        "template long f<long>(long);",
        "template <typename... T> int f(T... a) { return sizeof...(a); }",
        "double f(double a) { return a; }  // namespace x {"}) {
    EXPECT_EQ(Outside(code).code, code);
    EXPECT_THAT(Outside(code).changes, IsEmpty()) << code;
  }
}

}  // namespace
}  // namespace whetstone
