#include "cpu_bench_worker/problem/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "cpu_bench_worker/problem/element.h"

namespace whetstone {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

v1::Compare Rule(v1::Compare::Rule kind, double rtol = 0, double atol = 0) {
  v1::Compare rule;
  rule.set_rule(kind);
  rule.set_rtol(rtol);
  rule.set_atol(atol);
  return rule;
}

Comparison Floats(const v1::Compare& rule, std::vector<float> got, std::vector<float> want,
                  double slack = 1) {
  return CompareElements(v1::F32, rule, slack, static_cast<int64_t>(got.size()), got.data(),
                         want.data());
}

TEST(CompareTest, ANanIsNeverRight) {
  for (const auto& rule : {Rule(v1::Compare::EXACT), Rule(v1::Compare::SCALED, 1e9),
                           Rule(v1::Compare::ELEMENTWISE, 1e9, 1e9)}) {
    EXPECT_FALSE(Floats(rule, {kNan}, {1}).right);
    EXPECT_FALSE(Floats(rule, {1}, {kNan}).right);
    EXPECT_FALSE(Floats(rule, {kNan}, {kNan}).right) << "a problem whose answer is NaN is unsound";
    EXPECT_FALSE(Floats(rule, {kInf}, {1}).right);
    EXPECT_FALSE(Floats(rule, {1}, {kInf}).right);
    EXPECT_TRUE(Floats(rule, {kInf}, {kInf}).right);
  }
}

TEST(CompareTest, ExactIsByValue) {
  EXPECT_TRUE(Floats(Rule(v1::Compare::EXACT), {-0.0f, 2}, {0.0f, 2}).right);
  EXPECT_FALSE(Floats(Rule(v1::Compare::EXACT), {std::nextafterf(2, 3)}, {2}).right);
}

TEST(CompareTest, ScaledLooksAtTheLargest) {
  const v1::Compare rule = Rule(v1::Compare::SCALED, 1e-2);
  EXPECT_TRUE(Floats(rule, {100, 0.9f}, {100, 0}).right);
  const Comparison wrong = Floats(rule, {100, 1.1f, 7}, {100, 0, 0});
  EXPECT_FALSE(wrong.right);
  EXPECT_EQ(wrong.first_bad, 1);
  EXPECT_EQ(wrong.bad, 2);
  EXPECT_TRUE(Floats(rule, {0.000009f}, {0}).right) << "never tighter than rtol * 1e-3";
  EXPECT_FALSE(Floats(rule, {0.000011f}, {0}).right);
  EXPECT_TRUE(Floats(rule, {0.000011f}, {0}, 2).right) << "slack";
}

TEST(CompareTest, ElementwiseLooksAtEach) {
  const v1::Compare rule = Rule(v1::Compare::ELEMENTWISE, 0.1, 0.5);
  EXPECT_TRUE(Floats(rule, {11.4f}, {10}).right);
  EXPECT_FALSE(Floats(rule, {11.6f}, {10}).right);
}

TEST(CompareTest, IntegersAndBf16) {
  const std::vector<uint64_t> a = {1, ~uint64_t{0}};
  const std::vector<uint64_t> b = {1, ~uint64_t{0} - 1};
  const v1::Compare loose = Rule(v1::Compare::SCALED, 0.5);
  EXPECT_TRUE(CompareElements(v1::U64, loose, 1, 2, a.data(), a.data()).right);
  const Comparison wrong = CompareElements(v1::U64, loose, 1, 2, b.data(), a.data());
  EXPECT_FALSE(wrong.right) << "integers are exact under any rule";
  EXPECT_EQ(wrong.first_bad, 1);
  const Bf16 x = ToBf16(100), y = ToBf16(101);
  EXPECT_TRUE(CompareElements(v1::BF16, Rule(v1::Compare::SCALED, 0.02), 1, 1, &x, &y).right);
  EXPECT_FALSE(CompareElements(v1::BF16, Rule(v1::Compare::SCALED, 0.002), 1, 1, &x, &y).right);
  EXPECT_TRUE(CompareElements(v1::F32, loose, 1, 0, nullptr, nullptr).right) << "nothing to differ";
}

TEST(CompareTest, DescribesTheElement) {
  const float got[] = {0, 1.5f}, want[] = {0, 2};
  EXPECT_EQ(DescribeElement("c", v1::F32, 1, got, want), "c[1] is 1.5, expected 2");
  const int8_t g = -3, w = 4;
  EXPECT_EQ(DescribeElement("x", v1::I8, 0, &g, &w), "x[0] is -3, expected 4");
}

struct Sample {
  float value;
  uint8_t kind;
  double weight;
};

TEST(CompareTest, StructsAreComparedFieldByField) {
  v1::StructType type;
  type.set_name("Sample");
  for (const auto& [name, element] :
       {std::pair("value", v1::F32), std::pair("kind", v1::U8), std::pair("weight", v1::F64)}) {
    type.add_fields()->set_name(name);
    type.mutable_fields()->rbegin()->set_type(element);
  }
  const ElementLayout layout = LayoutOf(type);
  ASSERT_EQ(layout.bytes, sizeof(Sample));
  const auto sample = [](float value, uint8_t kind, double weight, int padding) {
    Sample s;
    std::memset(static_cast<void*>(&s), padding, sizeof s);
    s.value = value;
    s.kind = kind;
    s.weight = weight;
    return s;
  };
  const Sample want[] = {sample(1, 2, 3e6, 0), sample(1, 2, 3, 0), sample(1, 2, 3, 0)};
  const v1::Compare rule = Rule(v1::Compare::SCALED, 1e-3);
  const auto compare = [&](const std::vector<Sample>& got) {
    return CompareElements(layout, rule, 1, 3, got.data(), want);
  };
  EXPECT_TRUE(compare({sample(1.0005f, 2, 3e6, 7), sample(1, 2, 3, 8), sample(1, 2, 4, 9)}).right)
      << "within the tolerance of each field, whatever the padding";
  // Each field has a largest value of its own.
  const std::vector<Sample> far = {want[0], sample(1.01f, 2, 3, 0), sample(1.01f, 2, 3, 0)};
  const Comparison wrong = compare(far);
  EXPECT_FALSE(wrong.right);
  EXPECT_EQ(wrong.field, 0u);
  EXPECT_EQ(wrong.first_bad, 1);
  EXPECT_EQ(wrong.bad, 2);
  EXPECT_EQ(DescribeElement("s", layout, wrong, far.data(), want),
            "s[1].value is 1.00999999, expected 1");
  // Integers are exact, whatever the rule.
  const std::vector<Sample> other_kind = {want[0], want[1], sample(1, 3, 3, 0)};
  EXPECT_EQ(DescribeElement("s", layout, compare(other_kind), other_kind.data(), want),
            "s[2].kind is 3, expected 2");
  EXPECT_FALSE(compare({want[0], want[1], sample(kNan, 2, 3, 0)}).right);
}

TEST(CompareTest, NumbersOfAFieldsArrayAreNamed) {
  v1::StructType type;
  type.set_name("Name");
  for (const auto& [name, element] : {std::pair("r", v1::F64), std::pair("prefix", v1::I8)}) {
    type.add_fields()->set_name(name);
    type.mutable_fields()->rbegin()->set_type(element);
  }
  type.mutable_fields(0)->add_extents(3);
  type.mutable_fields(0)->add_extents(3);
  type.mutable_fields(1)->add_extents(16);
  struct Name {
    double r[3][3];
    char prefix[16];
  };
  const ElementLayout layout = LayoutOf(type);
  ASSERT_EQ(layout.bytes, sizeof(Name));
  const Name want[2] = {};
  Name got[2] = {};
  const v1::Compare rule = Rule(v1::Compare::SCALED, 1e-3);
  EXPECT_TRUE(CompareElements(layout, rule, 1, 2, got, want).right);
  got[1].prefix[15] = 'x';
  EXPECT_EQ(DescribeElement("s", layout, CompareElements(layout, rule, 1, 2, got, want), got, want),
            "s[1].prefix[15] is 120, expected 0");
  got[0].r[2][1] = 4;
  EXPECT_EQ(DescribeElement("s", layout, CompareElements(layout, rule, 1, 2, got, want), got, want),
            "s[0].r[2][1] is 4, expected 0");
}

}  // namespace
}  // namespace whetstone
