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
                    "  for (size_t i = 1; i < x.size(); ++i) out[i] = x[i] + x.at(i - 1);\n"
                    "  return x.empty() ? x.front() : *std::max_element(x.begin(), x.end());\n}\n"),
            "double f(const double* x, size_t x_size, double* out) {\n"
            "  for (size_t i = 1; i < x_size; ++i) out[i] = x[i] + x[i - 1];\n"
            "  return (x_size == 0) ? x[0] : *std::max_element(x, (x + x_size));\n}\n");
  EXPECT_EQ(Plainly("void f(std::vector<float>& y, int n) { y[n] = 1; }"),
            "void f(float* y, size_t y_size, int n) { y[n] = 1; }");
  EXPECT_EQ(Plainly("int f(std::span<const int> a, const std::array<int, 8>& b) {\n"
                    "  return a[0] + (int)a.size() + b[1] + (int)b.size();\n}"),
            "int f(const int* a, size_t a_size, const int* b) {\n"
            "  return a[0] + (int)a_size + b[1] + (int)8;\n}");
  EXPECT_EQ(Plainly("int f(const std::string& s) { return s[0] + s.length(); }"),
            "int f(const char* s, size_t s_size) { return s[0] + s_size; }");
}

TEST(PlainSourceTest, ALoopThroughAVectorCountsPlaces) {
  EXPECT_EQ(Plainly("struct P { int a; };\nint f(const std::vector<P>& ps) {\n  int s = 0;\n"
                    "  for (const P& p : ps) {\n    s += p.a;\n  }\n  return s;\n}"),
            "struct P { int a; };\nint f(const P* ps, size_t ps_size) {\n  int s = 0;\n"
            "  for (size_t ps_at = 0; ps_at < ps_size; ++ps_at) {\nconst P& p = ps[ps_at];\n"
            "    s += p.a;\n  }\n  return s;\n}");
  EXPECT_THAT(Plainly("int f(const std::vector<int>& v) { int s = 0; for (int x : v) s += x; "
                      "return s; }"),
              HasSubstr("for (int x : std::span<const int>(v, v_size)) s += x;"));
}

TEST(PlainSourceTest, HelpersTakeViews) {
  EXPECT_EQ(Plainly("#include <vector>\nstatic int g(const std::vector<int>& w, int i) {\n"
                    "  return w[i];\n}\nint f(const std::vector<int>& v) { return g(v, 1); }\n"),
            "#include <span>\n#include <vector>\nstatic int g(std::span<const int> w, int i) {\n"
            "  return w[i];\n}\nint f(const int* v, size_t v_size) { return "
            "g(std::span<const int>(v, v_size), 1); }\n");
  EXPECT_THAT(Plainly("double f(const std::vector<double>& v) { std::vector<double> s = v; "
                      "std::vector<double> t(v); return s[0] + t[0]; }"),
              HasSubstr("std::vector<double> s = std::vector<double>(v, v + v_size); "
                        "std::vector<double> t(std::vector<double>(v, v + v_size));"));
  EXPECT_EQ(Plainly("double f(std::vector<double> v, int n) { v[0] += n; return v[1]; }"),
            "double f(const double* v_given, size_t v_size, int n) {\n"
            "  std::vector<double> v(v_given, v_given + v_size); v[0] += n; return v[1]; }");
}

TEST(PlainSourceTest, ReferencesBecomeValuesOrPointers) {
  EXPECT_EQ(Plainly("struct Q { double a; };\nvoid f(const Q& q, const float& s, int& n) { n += "
                    "(int)(q.a * s); }"),
            "struct Q { double a; };\nvoid f(Q q, float s, int* n) { (*n) += (int)(q.a * s); }");
}

TEST(PlainSourceTest, AStructOfSizesBecomesItsFields) {
  EXPECT_EQ(Plainly("struct S { int rows; int cols; double w; };\n"
                    "void f(const S* s, const double* a, double* b) {\n"
                    "  for (int i = 0; i < s->rows; ++i) b[i] = a[i] * s->w;\n}"),
            "struct S { int rows; int cols; double w; };\n"
            "void f(int s_rows, double s_w, const double* a, double* b) {\n"
            "  for (int i = 0; i < s_rows; ++i) b[i] = a[i] * s_w;\n}");
  for (const char* body : {"b[0] = s[1].w;", "b[0] = g(s);", "b[0] = s->w; s++;"})
    EXPECT_THAT(Plainly(std::string("struct S { int rows; double w; };\n"
                                    "void f(const S* s, double* b) { ") +
                        body + " }"),
                HasSubstr("void f(const S* s, double* b)"))
        << body;
  EXPECT_THAT(Plainly("struct S { int n; };\nvoid f(S* s, double* b) { s->n = 1; }"),
              HasSubstr("void f(S* s, double* b)"));
}

TEST(PlainSourceTest, WhatIsPlainStaysAsItIs) {
  const std::string code =
      "void g(const std::vector<int>& v) {}\nvoid f(const float* a, float* b, int n) { b[0] = "
      "a[n]; }\n";
  EXPECT_EQ(Plainly(code), code);
  EXPECT_THAT(MakePlain(code, "f.cc", "f")->changes, IsEmpty());
  EXPECT_THAT(MakePlain(code, "f.cc", "g")->changes,
              ElementsAre("'v' (const std::vector<int>&) is 'v' and 'v_size'"));
  EXPECT_EQ(Plainly(code, "nobody"), code);
}

TEST(PlainSourceTest, AVectorThatGrowsIsRefused) {
  EXPECT_THAT(Plainly("void f(const int* a, std::vector<int>& out) {\n  out.push_back(a[0]);\n}"),
              HasSubstr("f.cc:2: 'out.push_back' is more than a problem's arrays can"));
}

}  // namespace
}  // namespace whetstone
