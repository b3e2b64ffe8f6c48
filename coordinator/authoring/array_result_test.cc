#include "coordinator/authoring/array_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/authoring/plain_source.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

std::string WithArray(const std::string& code) {
  const absl::StatusOr<PlainSource> plain = MakePlain(code, "f.cc", "");
  return plain.ok() ? plain->code : std::string(plain.status().message());
}

TEST(ArrayResultTest, AVectorThatIsReturnedIsAnArray) {
  EXPECT_EQ(WithArray("std::vector<double> f(const std::vector<double>& x, int w) {\n"
                      "  if (w < 0) return {};\n"
                      "  std::vector<double> out(x.size(), 0.0);\n"
                      "  for (size_t i = 0; i < out.size(); ++i) out[i] += x[i] * w;\n"
                      "  return out;\n}\n"),
            "void f(const double* x, size_t x_size, int w, double* out) {\n"
            "  if (w < 0) return;\n"
            "  const size_t out_size = x_size;\n"
            "  for (size_t out_at = 0; out_at < out_size; ++out_at) out[out_at] = 0.0;\n"
            "  for (size_t i = 0; i < out_size; ++i) out[i] += x[i] * w;\n"
            "  return;\n}\n");
  EXPECT_EQ(WithArray("std::vector<int> f(const std::vector<int>& x) {\n"
                      "  std::vector<int> y(x);\n  return y;\n}"),
            "void f(const int* x, size_t x_size, int* y) {\n"
            "  const size_t y_size = x_size;\n"
            "  for (size_t y_at = 0; y_at < y_size; ++y_at) y[y_at] = x[y_at];\n  return;\n}");
}

TEST(ArrayResultTest, OfOneThatGrowsTheLengthIsReturned) {
  EXPECT_EQ(WithArray("struct P { int a; double b; };\n"
                      "[[nodiscard]] std::vector<P> f(const double* x, int n) {\n"
                      "  std::vector<P> found;\n  found.reserve(n);\n"
                      "  const auto far = [&](double v) { return v > 3; };\n"
                      "  for (int i = 0; i < n; ++i) {\n"
                      "    if (far(x[i])) found.push_back({i, x[i]});\n"
                      "    else found.emplace_back(i, 0.0);\n"
                      "    while (found.size() > 5 && found.back().a < 2) found.pop_back();\n  }\n"
                      "  if (n == 7) return std::vector<P>{};\n"
                      "  return found;\n}"),
            "struct P { int a; double b; };\n"
            "size_t f(const double* x, int n, P* found) {\n"
            "  size_t found_size = 0;\n  static_cast<void>(0);\n"
            "  const auto far = [&](double v) { return v > 3; };\n"
            "  for (int i = 0; i < n; ++i) {\n"
            "    if (far(x[i])) found[found_size++] = {i, x[i]};\n"
            "    else found[found_size++] = P(i, 0.0);\n"
            "    while (found_size > 5 && found[found_size - 1].a < 2) --found_size;\n  }\n"
            "  if (n == 7) return 0;\n"
            "  return found_size;\n}");
  EXPECT_EQ(WithArray("std::string f(const char* s, int n) {\n  std::string t;\n"
                      "  for (int i = 0; i < n; ++i) { t += 'x'; t.push_back(s[i]); }\n"
                      "  return t;\n}"),
            "size_t f(const char* s, int n, char* t) {\n  size_t t_size = 0;\n"
            "  for (int i = 0; i < n; ++i) { t[t_size++] = 'x'; t[t_size++] = (s[i]); }\n"
            "  return t_size;\n}");
}

TEST(ArrayResultTest, AVectorThatIsGivenAndFilledIsOneToo) {
  EXPECT_EQ(WithArray("void f(const std::vector<int>& a, std::vector<int>& out) {\n"
                      "  out.clear();\n  if (a.empty()) return;\n"
                      "  for (size_t i = 0; i < a.size(); ++i) if (a[i]) out.push_back(a[i]);\n"
                      "  out.resize(4);\n}"),
            "size_t f(const int* a, size_t a_size, int* out) {\n"
            "  size_t out_size = 0;\n  if ((a_size == 0)) return out_size;\n"
            "  for (size_t i = 0; i < a_size; ++i) if (a[i]) out[out_size++] = (a[i]);\n"
            "  { const size_t out_length = 4; while (out_size < out_length) out[out_size++] = "
            "{}; out_size = out_length; }\n  return out_size;\n}");
  EXPECT_EQ(WithArray("void f(std::vector<float>& y, int n) { y.assign(n, -1); y[0] = 2; }"),
            "void f(float* y, int n) { const size_t y_size = n;\n"
            "  for (size_t y_at = 0; y_at < y_size; ++y_at) y[y_at] = -1; y[0] = 2; }");
}

// None of these can be told by an array and a length.
TEST(ArrayResultTest, WhatIsMoreStaysAsItIs) {
  for (const char* code :
       {"std::vector<int> f(int n) { std::vector<int> a(n); std::vector<int> b; return n ? a : b; "
        "}",
        "std::vector<int> f(int n) { std::vector<int> a(n), b; return a; }",
        "std::vector<int> f(int n) { std::vector<int> a(p, p + n); return a; }",
        "std::vector<int> f(int n) { std::vector<int> a; a.insert(a.begin(), n); return a; }",
        "std::vector<int> f(int n) { std::vector<int> a; g(a); return a; }",
        "std::vector<int> f(int n) { std::vector<int> a(n); auto b = a; return a; }",
        "std::vector<int> f(int n) { std::vector<int> a; auto g = [=] { a[0]; }; return a; }",
        "std::vector<int> f(int n) { if (n) { std::vector<int> a; return a; } return {}; }",
        "std::vector<int> f(int n) { return std::vector<int>(n); }",
        "std::vector<std::vector<int>> f(int n) { std::vector<std::vector<int>> a(n); return a; }",
        "std::vector<int> f(int n) { std::vector<int> a; const auto& m = a.size(); return a; }",
        "std::string f(int n) { std::string s; (s += 'x') += 'y'; return s; }",
        "std::string f(int n) { std::string s; s += std::to_string(n); return s; }"})
    EXPECT_FALSE(WithArrayResult(code, ReadCppSource(code, "f.cc")->functions[0]).has_value())
        << code;
  for (const char* body :
       {"out.push_back(1);", "if (!n) return; out.clear(); out.push_back(1);",
        "if (n) out.clear();", "out.clear(); g(out);", "out[0] = 1; out.clear();"})
    EXPECT_THAT(WithArray(std::string("void f(std::vector<int>& out, int n) {\n") + body + "\n}"),
                HasSubstr("f.cc:1: 'out' (std::vector<int>&) is more than elements here"))
        << body;
}

TEST(ArrayResultTest, WhatIsDoneOnceIsDoneOnce) {
  EXPECT_THAT(
      WithArray("std::vector<double> f(const double* x, int n) {\n"
                "  std::vector<double> out(n, 1.0 / norm(x, n));\n  return out;\n}"),
      HasSubstr("const size_t out_size = n;\n  const double out_value = 1.0 / norm(x, n);\n"
                "  for (size_t out_at = 0; out_at < out_size; ++out_at) out[out_at] = out_value;"));
  // What was there before it got its length stays, and so does what a reference to it says.
  EXPECT_EQ(WithArray("void f(std::vector<double>& y, int n) { y.resize(n); y[0] += 1; }"),
            "void f(double* y, int n) { const size_t y_size = n; y[0] += 1; }");
  EXPECT_THAT(WithArray("std::vector<unsigned char> f(int n) { std::vector<unsigned char> a(n); "
                        "if (n < 0) [[unlikely]] { return {}; } return a; }"),
              HasSubstr("a[a_at] = {}; if (n < 0) [[unlikely]] { return; } return; }"));
}

TEST(ArrayResultTest, WhatBecameOfItIsTold) {
  const auto plain =
      MakePlain("std::vector<int> f(int n) { std::vector<int> a; return a; }", "f.cc", "f");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->code, "void f(int n, int* a) { const size_t a_size = 0; return; }");
  EXPECT_EQ(plain->changes.front(), "what it returns (std::vector<int>) is the array 'a'");
}

}  // namespace
}  // namespace whetstone
