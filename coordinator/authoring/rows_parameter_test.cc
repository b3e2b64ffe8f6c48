#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/authoring/plain_source.h"

namespace whetstone {
namespace {

std::string WithRows(const std::string& code) {
  const absl::StatusOr<PlainSource> plain = MakePlain(code, "f.cc", "");
  return plain.ok() ? plain->code : std::string(plain.status().message());
}

TEST(RowsParameterTest, AVectorOfVectorsIsAPointerAndTwoSizes) {
  EXPECT_EQ(
      WithRows("void f(const std::vector<std::vector<float>>& g, vector< vector<float> >& o) {\n"
               "  if (g.empty()) return;\n"
               "  for (size_t i = 0; i < g.size(); ++i)\n"
               "    for (size_t j = 1; j < g[0].size(); ++j) o[i][j] = g[i][j - 1] + "
               "g[i][int(g[i][j])];\n"
               "}"),
      "void f(const float* g, size_t g_rows, size_t g_cols, float* o, size_t o_rows, size_t "
      "o_cols) {\n"
      "  if ((g_rows == 0)) return;\n"
      "  for (size_t i = 0; i < g_rows; ++i)\n"
      "    for (size_t j = 1; j < g_cols; ++j) o[(i) * o_cols + (j)] = g[(i) * g_cols + (j - "
      "1)] + g[(i) * g_cols + (int(g[(i) * g_cols + (j)]))];\n}");
}

TEST(RowsParameterTest, WhereMoreIsDoneWithItTheVectorsAreMadeAgain) {
  const std::string made =
      "int f(const int* g_given, size_t g_rows, size_t g_cols) {\n"
      "  std::vector<std::vector<int>> g(g_rows);\n"
      "  for (size_t g_at = 0; g_at < g_rows; ++g_at) g[g_at].assign(g_given + g_at * g_cols, "
      "g_given + (g_at + 1) * g_cols); ";
  for (const char* body :
       {"const auto& row = g[0]; return row[1];",
        "int s = 0; for (const auto& row : g) { s += row[0]; } return s;", "return h(g);",
        "auto k = [=] { return g[0][0]; }; return k();", "return g[i++].size();"})
    EXPECT_EQ(
        WithRows(std::string("int f(const std::vector<std::vector<int>>& g) { ") + body + " }"),
        made + body + " }")
        << body;
}

TEST(RowsParameterTest, OfArraysTheElementsAreHandedOver) {
  EXPECT_EQ(
      WithRows("void f(const std::vector<std::array<int, 3>>& a, std::vector<std::array<double, "
               "2>>& out) {\n  out.assign(a.size(), {});\n  out[0][1] = a[1][2];\n}"),
      "void f(const int* a_given, size_t a_size, double* out_given) {\n"
      "  auto* a = reinterpret_cast<const std::array<int, 3>*>(a_given);\n"
      "  auto* out = reinterpret_cast<std::array<double, 2>*>(out_given);\n"
      "  const size_t out_size = a_size;\n"
      "  for (size_t out_at = 0; out_at < out_size; ++out_at) out[out_at] = {};\n"
      "  out[0][1] = a[1][2];\n}");
}

TEST(RowsParameterTest, OfFlagsItIsMadeAgainAndOneThatMayChangeStays) {
  EXPECT_EQ(WithRows("int f(const std::vector<std::vector<bool>>& v) { return v[0][0]; }"),
            "int f(size_t v_size, size_t v_length, const unsigned char* v_given) {\n"
            "  std::vector<std::vector<bool>> v{};\n  v.resize(v_size);\n"
            "  for (size_t v_at = 0; v_at < v_size; ++v_at) {\n    v[v_at].resize(v_length);\n"
            "    for (size_t v_at_ = 0; v_at_ < v_length; ++v_at_) {\n"
            "      v[v_at][v_at_] = (v_given[v_at * v_length + v_at_] & 1) != 0;\n    }\n  } "
            "return v[0][0]; }");
  for (const char* code : {"void f(std::vector<std::vector<int>>& v) { v[0].push_back(1); }",
                           "void f(std::vector<std::vector<int>>& v) { v.resize(3); }"})
    EXPECT_EQ(WithRows(code), code);
}

}  // namespace
}  // namespace whetstone
