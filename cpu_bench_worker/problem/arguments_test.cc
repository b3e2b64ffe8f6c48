#include "cpu_bench_worker/problem/arguments.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

v1::SizePoint Point(std::initializer_list<std::pair<const char*, int64_t>> values) {
  v1::SizePoint point;
  for (const auto& [name, value] : values) (*point.mutable_values())[name] = value;
  return point;
}

TEST(ArgumentsTest, EvaluatesShapesAndSizes) {
  const auto arguments = Arguments::Parse(TransposeProblem());
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const auto shape = arguments->At(Point({{"r", 3}, {"c", 5}}));
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->args[0].count, 15);
  EXPECT_EQ(shape->args[1].count, 15);
  EXPECT_EQ(shape->args[2].value, 3);
  EXPECT_EQ(shape->args[3].value, 5);
  EXPECT_EQ(shape->bytes, 2 * 15 * 4);
  EXPECT_EQ(SizeText(shape->size), "c=5, r=3");
  EXPECT_FALSE(arguments->needs_generator());
}

TEST(ArgumentsTest, StructsAreElements) {
  const auto arguments = Arguments::Parse(DriftProblem());
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->specs()[0].element.bytes, 24u);
  EXPECT_EQ(arguments->specs()[0].element.alignment, 8u);
  EXPECT_EQ(arguments->specs()[2].fills.size(), 2u);
  EXPECT_TRUE(arguments->specs()[3].is_struct_value());
  EXPECT_EQ(arguments->returned().struct_name, "Moved");
  EXPECT_TRUE(arguments->needs_generator());
  const auto shape = arguments->At(Point({{"n", 10}}));
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->bytes, 2 * 10 * 24 + 8);
}

TEST(ArgumentsTest, RefusesWhatCannotBe) {
  const auto arguments = Arguments::Parse(MatmulProblem());
  ASSERT_TRUE(arguments.ok());
  EXPECT_TRUE(absl::StrContains(arguments->At(Point({{"n", -1}})).status().message(), "is -1"));
  EXPECT_TRUE(absl::StrContains(arguments->At(Point({{"m", 1}})).status().message(), "n"));
  EXPECT_TRUE(absl::StrContains(arguments->At(Point({{"n", 1 << 20}})).status().message(), "MiB"));
}

TEST(ArgumentsTest, NamesTheBadArgument) {
  struct Case {
    const char* part;
    void (*spoil)(v1::Problem*);
  };
  for (const Case& c : {
           Case{"args.a: is a Body, but the problem has no such struct",
                [](v1::Problem* p) {
                  p->mutable_args(0)->mutable_array()->set_struct_type("Body");
                }},
           Case{"args.a: has 2 fills for 1 fields",
                [](v1::Problem* p) {
                  v1::Array* a = p->mutable_args(0)->mutable_array();
                  for (int i = 0; i < 2; ++i) *a->add_field_fills() = a->fill();
                  a->clear_fill();
                }},
           Case{"args.a: has no element type",
                [](v1::Problem* p) { p->mutable_args(0)->mutable_array()->clear_type(); }},
           Case{"args.a: an array needs a shape",
                [](v1::Problem* p) { p->mutable_args(0)->mutable_array()->clear_shape(); }},
           Case{"args.a: fill UNIFORM takes 2 parameters, not 1",
                [](v1::Problem* p) {
                  p->mutable_args(0)
                      ->mutable_array()
                      ->mutable_fill()
                      ->mutable_parameters()
                      ->Truncate(1);
                }},
           Case{"no fill and the problem has no generator",
                [](v1::Problem* p) { p->mutable_args(0)->mutable_array()->clear_fill(); }},
           Case{"nothing is an output",
                [](v1::Problem* p) { p->mutable_args()->DeleteSubrange(2, 1); }},
           Case{"args.n: is neither", [](v1::Problem* p) { p->mutable_args(3)->clear_kind(); }},
       }) {
    v1::Problem problem = MatmulProblem();
    c.spoil(&problem);
    const auto arguments = Arguments::Parse(problem);
    EXPECT_EQ(arguments.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(arguments.status().message(), c.part)) << arguments.status();
  }
}

}  // namespace
}  // namespace whetstone
