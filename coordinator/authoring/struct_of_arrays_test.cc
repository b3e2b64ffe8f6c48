#include "coordinator/authoring/struct_of_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "coordinator/authoring/plain_source.h"

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kBodies[] =
    "struct Bodies {\n  std::vector<double> x, m;\n  std::array<float, 3> box = {1, 2, 3};\n"
    "  int count = 0;\n  double g{9.8};\n};\n";

TEST(StructOfArraysTest, FieldsThatAreUsedAreParameters) {
  const auto plain = MakePlain(std::string(kBodies) +
                                   "double f(int k, const Bodies& b) {\n  double s = 0;\n"
                                   "  for (int i = 0; i < b.count; ++i) s += b.m[i] * b.g;\n"
                                   "  return s + b.m.size() + b.box[1] + k;\n}",
                               "f.cc", "");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->code,
            std::string(kBodies) +
                "double f(int k, int b_count, const double* b_m, size_t b_m_size, double b_g, "
                "const float* b_box) {\n  double s = 0;\n"
                "  for (int i = 0; i < b_count; ++i) s += b_m[i] * b_g;\n"
                "  return s + b_m_size + b_box[1] + k;\n}");
  EXPECT_THAT(plain->changes,
              ElementsAre("'b' (const Bodies&) is a parameter for each field that is used",
                          "'b_m' (const std::vector<double>&) is 'b_m' and 'b_m_size'",
                          "'b_box' (const std::array<float, 3>&) is 'b_box'"));
}

TEST(StructOfArraysTest, OneThatChangesIsWrittenTo) {
  const auto plain = MakePlain(std::string(kBodies) +
                                   "void f(Bodies& b, double dt) {\n"
                                   "  for (size_t i = 0; i < b.x.size(); ++i) b.x[i] += dt;\n"
                                   "  b.count += 1;\n}",
                               "f.cc", "");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(plain->code,
              HasSubstr("void f(double* b_x, size_t b_x_size, int* b_count_given, double dt) {\n"
                        "  int& b_count = *b_count_given;\n"
                        "  for (size_t i = 0; i < b_x_size; ++i) b_x[i] += dt;\n"
                        "  b_count += 1;\n}"));
}

TEST(StructOfArraysTest, PointersAreHandedOverAsTheyAre) {
  const std::string view =
      "struct View {\n  const uint8_t* data; int w, h;\n  int area() const { return w * h; }\n};\n";
  const auto plain =
      MakePlain(view + "int f(const View& v) { return v.data[v.w - 1]; }", "f.cc", "");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->code,
            view + "int f(const uint8_t* v_data, int v_w) { return v_data[v_w - 1]; }");
}

TEST(StructOfArraysTest, WhatIsUsedAsAWholeStays) {
  for (const char* function :
       {"double f(const Bodies& b) { return g(b); }",
        "double f(const Bodies& b) { return b.sum(); }",
        "double f(const Bodies* b) { return b->m[0]; }", "double f(Bodies b) { return b.m[0]; }"}) {
    const std::string code = std::string(kBodies) + function;
    const auto source = ReadCppSource(code, "f.cc");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_FALSE(WithFieldsApart(code, source->functions[0]).has_value()) << function;
  }
  for (const char* text :
       {"class S { std::vector<int> a; };", "struct S { std::vector<int>& a; };",
        "struct S : T { std::vector<int> a; };", "struct S { int a; double b; };"}) {
    const std::string code = absl::StrCat(text, "int f(const S& s) { return s.a[0]; }");
    const auto source = ReadCppSource(code, "f.cc");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_FALSE(WithFieldsApart(code, source->functions[0]).has_value()) << text;
  }
}

}  // namespace
}  // namespace whetstone
