#include "coordinator/authoring/plain_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Plainly(const std::string& code, const std::string& function = "") {
  const absl::StatusOr<PlainSource> plain = MakePlain(code, "f.cc", function);
  return plain.ok() ? plain->code : std::string(plain.status().message());
}

TEST(PlainSourceTest, AVectorBecomesAPointerAndASize) {
  EXPECT_EQ(Plainly("double f(const std::vector<double>& x, double* out) {\n"
                    "  for (size_t i = 1; i < x.size(); ++i) out[i] = x[i] + x[i - 1];\n"
                    "  return x.empty() ? x.front() : *std::max_element(x.begin(), x.end());\n}\n"),
            "double f(const double* x, size_t x_size, double* out) {\n"
            "  for (size_t i = 1; i < x_size; ++i) out[i] = x[i] + x[i - 1];\n"
            "  return (x_size == 0) ? x[0] : *std::max_element(x, (x + x_size));\n}\n");
  EXPECT_EQ(Plainly("void f(std::vector<float>& y, int n) { y[n] = 1; }"),
            "void f(float* y, int n) { y[n] = 1; }");
  EXPECT_EQ(Plainly("void f(const std::span<float> y, int n) { y[n] = y.back(); }"),
            "void f(float* y, size_t y_size, int n) { y[n] = y[y_size - 1]; }");
  EXPECT_EQ(Plainly("int f(std::span<const int> a, const std::array<int, N + 1>& b) {\n"
                    "  return a[0] + (int)a.size() + b[1] + (int)b.size();\n}"),
            "int f(const int* a, size_t a_size, const int* b) {\n"
            "  return a[0] + (int)a_size + b[1] + (int)size_t{N + 1};\n}");
}

TEST(PlainSourceTest, WhatLooksLikeADeclarationButIsNoneIsAUse) {
  for (const char* body :
       {"const bool up = v[0] > v[1];", "h ^= h >> v[1];", "i++, v[i] = 0;", "s = 2 * v[0];",
        "return a < b && a > v[0];", "g(a * v[0], v[1]);", "if (n & v[0]) return;",
        "for (; n && v[0]; n--) {}", "assert(n > 0 && \"ERROR\"); v[0] = 1;"})
    EXPECT_EQ(Plainly(std::string("void f(std::vector<int>& v) { ") + body + " }"),
              std::string("void f(int* v) { ") + body + " }");
  EXPECT_EQ(
      Plainly("struct S { int n, m; };\nvoid f(const S* s, const int& k, float* __restrict y) "
              "{ for (int i = 0; i < s->n && k && i < s->m; i++) y[i] = 1; }"),
      "struct S { int n, m; };\nvoid f(int s_n, int s_m, int k, float* __restrict y) { for "
      "(int i = 0; i < s_n && k && i < s_m; i++) y[i] = 1; }");
  EXPECT_THAT(Plainly("struct constants { int n; };\nvoid f(constants* k) { k->n = 3; }"),
              HasSubstr("void f(constants* k)"));
  EXPECT_THAT(Plainly("double f(const double& a) { const double* p = &(a); return p[1]; }"),
              HasSubstr("const double& a = *a_given;"));
}

TEST(PlainSourceTest, ALoopThroughAVectorCountsPlaces) {
  EXPECT_EQ(Plainly("struct P { int a; };\nint f(const std::vector<P>& ps) {\n  int s = 0;\n"
                    "  for (const P& p : ps) {\n    s += p.a;\n  }\n  return s;\n}"),
            "struct P { int a; };\nint f(const P* ps, size_t ps_size) {\n  int s = 0;\n"
            "  for (size_t ps_at = 0; ps_at < ps_size; ++ps_at) {\nconst P& p = ps[ps_at];\n"
            "    s += p.a;\n  }\n  return s;\n}");
}

TEST(PlainSourceTest, AHelperThatLooksAtElementsOnlyTakesThePointer) {
  const std::string g = "static int g(int i, const std::vector<int>& w) { return w[i]; }\n";
  const std::string h = "static int h(const std::vector<int>& u) { return g(1, u) + u[0]; }\n";
  const std::string f = "int f(const std::vector<int>& v) { return v[0] + h(v) + g(2, v); }";
  EXPECT_EQ(Plainly(g + h + f),
            "static int g(int i, const int* w) { return w[i]; }\n"
            "static int h(const int* u) { return g(1, u) + u[0]; }\n"
            "int f(const int* v) { return v[0] + h(v) + g(2, v); }");
  // Others call it too, or it is more than elements there.
  const std::string made = "int f(const int* v_given, size_t v_size) {";
  EXPECT_THAT(Plainly(g + "int k() { std::vector<int> t(3); return g(0, t); }\n" + f, "f"),
              HasSubstr(made));
  EXPECT_THAT(Plainly("static int h(const std::vector<int>& u) { return u.size(); }\n" + g + f),
              HasSubstr(made));
  EXPECT_THAT(Plainly(g + "static int h(const std::vector<long>& u) { return u[0]; }\n" + f),
              HasSubstr(made));
}

TEST(PlainSourceTest, WhatIsNoContainerOfNumbersStays) {
  for (const char* code : {"int f(const std::vector<std::map<int, int>>& v) { return v[0][0]; }",
                           "int f(std::vector<bool>& v) { return v[0]; }",
                           "void f(const double*& p, double* out) { out[0] = *p++; }"})
    EXPECT_EQ(Plainly(code), code);
  EXPECT_EQ(Plainly("#include <math.h>\nvoid f(std::vector<float>& h, int n) { h[n] = 1; }"),
            "#include <math.h>\nvoid f(float* h, int n) { h[n] = 1; }");
  EXPECT_EQ(Plainly("double f(const std::span<double>& x) { return g(x.subspan(1)); }"),
            "double f(double* x_given, size_t x_size) {\n  const std::span<double> x(x_given, "
            "x_size); return g(x.subspan(1)); }");
  EXPECT_EQ(Plainly("double f(const double& a) { const double* p = &a; return p[1]; }"),
            "double f(const double* a_given) {\n  const double& a = *a_given; const double* p = "
            "&a; return p[1]; }");
}

// Each of these computes something else by a pointer, or does not compile.
TEST(PlainSourceTest, WhatNeedsTheContainerHasIt) {
  for (const char* body :
       {"return g(v);", "auto old = v; return old[0];", "std::vector<int> t(v); return t[0];",
        "for (int x : v) return x; return 0;", "int v[3] = {1, 2, 3}; return v[0];",
        "return v.at(1);", "return *v.rbegin();", "auto h = [w = v] { return w[0]; }; return h();",
        "std::span<const int> r = v; return r[0];", "auto h = [=] { return v[0]; }; return h();",
        "{ int a = 1, v[2] = {1, 2}; for (int x : v) { a += x; } return a; }",
        "{ const int* v[2] = {}; return v[0] == nullptr; }", "{ int a, v[2][3]; return v.size(); }",
        "return sum(++v.begin(), v.end());", "auto&& n = v.size(); return --n;",
        "auto h = [ = ] { return v[0]; }; return h();", "return R\"(v.size())\"[0] + v[0];"})
    EXPECT_EQ(Plainly(std::string("int f(const std::vector<int>& v) { ") + body + " }"),
              std::string("int f(const int* v_given, size_t v_size) {\n  const std::vector<int> "
                          "v(v_given, v_given + v_size); ") +
                  body + " }")
        << body;
  EXPECT_EQ(Plainly("#define AT v[0]\nint f(const std::vector<int>& v) { return AT; }"),
            "#define AT v[0]\nint f(const int* v_given, size_t v_size) {\n  const std::vector<int> "
            "v(v_given, v_given + v_size); return AT; }");
  EXPECT_EQ(Plainly("double f(std::vector<double> v, int& n) { v[0] += n++; return v[1]; }"),
            "double f(const double* v_given, size_t v_size, int* n_given) {\n"
            "  std::vector<double> v(v_given, v_given + v_size);\n  int& n = *n_given; "
            "v[0] += n++; return v[1]; }");
  EXPECT_EQ(Plainly("int f(const std::string& s) { int i = 0; while (s[i]) ++i; return i; }"),
            "int f(const char* s_given, size_t s_size) {\n  const std::string s(s_given, s_given + "
            "s_size); int i = 0; while (s[i]) ++i; return i; }");
  EXPECT_EQ(Plainly("int f(std::string_view s) { return g(s); }"),
            "int f(const char* s_given, size_t s_size) {\n  std::string_view s(s_given, s_size); "
            "return g(s); }");
}

TEST(PlainSourceTest, AContainerThatChangesIsRefused) {
  for (const char* body : {"out.push_back(1);", "std::vector<int> t(3);\n out = t;", "g(out);"})
    EXPECT_THAT(
        Plainly(std::string("void f(std::vector<int>& out, int n) {\n") + body + "\n}"),
        HasSubstr("f.cc:1: 'out' (std::vector<int>&) is more than elements here (as in line "))
        << body;
}

TEST(PlainSourceTest, AViewThatMovesIsRefused) {
  EXPECT_THAT(Plainly("void f(std::span<float>& y) { y = y.subspan(1); }"),
              HasSubstr("'y' (std::span<float>&) is more than elements here"));
}

TEST(PlainSourceTest, ReferencesBecomeValuesOrPointers) {
  EXPECT_EQ(Plainly("struct Q { double a; };\nvoid f(const Q& q, const float& s, int& n) { for "
                    "(int n = 0; n < 3; n++) {} n += (int)(q.a * s); }"),
            "struct Q { double a; };\nvoid f(Q q, float s, int* n_given) {\n  int& n = *n_given; "
            "for (int n = 0; n < 3; n++) {} n += (int)(q.a * s); }");
}

TEST(PlainSourceTest, AStructOfSizesBecomesItsFields) {
  EXPECT_EQ(Plainly("struct S { int rows; int cols; double w; };\n"
                    "void f(const S* s, const double* a, double* b) {\n"
                    "  for (int i = 0; i < s->rows; ++i) b[i] = a[i] - s->w;\n}"),
            "struct S { int rows; int cols; double w; };\n"
            "void f(int s_rows, double s_w, const double* a, double* b) {\n"
            "  for (int i = 0; i < s_rows; ++i) b[i] = a[i] - s_w;\n}");
  for (const char* body : {"b[0] = s[1].w;", "b[0] = g(s);", "b[0] = s->w; s++;", "b[0] = 1;",
                           "b[0] = g(&s->w);", "struct L { int s; }; b[0] = s->w;"})
    EXPECT_THAT(Plainly(std::string("struct S { int rows; double w; };\n"
                                    "void f(const S* s, double* b) { ") +
                        body + " }"),
                HasSubstr("void f(const S* s, double* b)"))
        << body;
  EXPECT_THAT(Plainly("struct S { int n; };\nvoid f(S* s, double* b) { s->n = 1; }"),
              HasSubstr("void f(S* s, double* b)"));
  EXPECT_EQ(Plainly("struct S { int n; };\nint f(S s) { s.n += 1; return ++s.n; }"),
            "struct S { int n; };\nint f(int s_n) { s_n += 1; return ++s_n; }");
  EXPECT_THAT(Plainly("struct S { int n; };\nint f(const S& s) { return (&s)[1].n; }"),
              HasSubstr("int f(const S* s_given) {\n  const S& s = *s_given; return"));
  // Where more is done with it, it is made again.
  for (const char* body : {"b[0] = s.n; g(s);", "g(s);"}) {
    EXPECT_EQ(
        Plainly(std::string("struct S { int n; float w; };\nvoid f(S s, double* b) { ") + body +
                " }"),
        std::string(
            "struct S { int n; float w; };\nvoid f(int s_n, float s_w, double* b) {\n  S s = {s_n, "
            "s_w}; ") +
            body + " }");
    EXPECT_THAT(Plainly(std::string("struct S { int n; };\nvoid f(const S& s, double* b) { ") +
                        body + " }"),
                HasSubstr("void f(int s_n, double* b) {\n  const S s = {s_n};"));
  }
}

TEST(PlainSourceTest, WhatIsPlainOrCalledStaysAsItIs) {
  const std::string code =
      "void g(const std::vector<int>& v) { v[0]; }\nvoid f(const float* a, float* b, int n) { b[0] "
      "= a[n]; }\n";
  EXPECT_EQ(Plainly(code), code);
  EXPECT_THAT(MakePlain(code, "f.cc", "f")->changes, IsEmpty());
  EXPECT_THAT(MakePlain(code, "f.cc", "g")->changes,
              ElementsAre("'v' (const std::vector<int>&) is 'v'"));
  for (const char* other :
       {"int f(const std::vector<int>& v, int n = 1 << 3, int k = 2) { return f(v, n - 1); }",
        "int f(const std::vector<int>& v) { return 0; }\nint f(const int* v) { return 1; }"})
    EXPECT_EQ(Plainly(other, "f"), other);
  EXPECT_EQ(Plainly("int g(const std::vector<int>& v) { return v[0]; }", "f"),
            "int g(const std::vector<int>& v) { return v[0]; }");
  EXPECT_EQ(Plainly("int f(const std::vector<int>& v, int m = 1 << 3, int k = 2) { return v[m]; }"),
            "int f(const int* v, int m, int k) { return v[m]; }");
}

}  // namespace
}  // namespace whetstone
