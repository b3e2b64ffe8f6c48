#include "cpu_bench_worker/problem/call_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

class CallBatchTest : public ::testing::Test {
 protected:
  void Use(const v1::Problem& problem) {
    auto arguments = Arguments::Parse(problem);
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    arguments_ = *arguments;
    auto shape = arguments_.At(problem.sizes().check(2));
    ASSERT_TRUE(shape.ok()) << shape.status();
    shape_ = *shape;
  }
  static std::string inputs(const CallBatch& batch) {
    return std::string(batch.inputs(), batch.input_bytes());
  }
  Arguments arguments_;
  CallShape shape_;
};

TEST_F(CallBatchTest, ArraysAreApartAlignedAndInside) {
  Use(MatmulProblem());  // n = 3
  for (const bool unaligned : {false, true}) {
    CallBatch batch(&arguments_, shape_, 5, {.seed = 3, .unaligned = unaligned});
    ASSERT_EQ(batch.words().size(), 4u);
    for (int call = 0; call < 5; ++call) {
      for (const size_t s : {0u, 1u, 2u}) {
        const size_t offset = batch.offset(call, s);
        EXPECT_EQ(offset % 64, unaligned ? 4u : 0u);
        EXPECT_LE(offset + 36 + kGuardBytes, s == 2 ? batch.outputs().size() : batch.input_bytes());
      }
      EXPECT_GE(batch.offset(call, 1), batch.offset(call, 0) + 36 + kGuardBytes);
    }
  }
}

TEST_F(CallBatchTest, OneInputAndOneOutputEndWhereTheirRegionsDo) {
  Use(MatmulProblem());  // n = 3
  for (int turn = 0; turn < 4; ++turn) {
    const size_t last = turn % 2, other = 1 - last;
    const CallBatch batch(&arguments_, shape_, 1, {.seed = 3, .last_array = turn});
    EXPECT_TRUE(batch.ends_at_page());
    EXPECT_EQ(batch.outputs().size() % 4096, 0u);
    EXPECT_EQ(batch.offset(0, 2) + 36, batch.outputs().size());
    EXPECT_TRUE(batch.GuardsIntact(batch.outputs().data()));
    std::string stray = batch.outputs();
    stray[batch.offset(0, 2) - 1] = 1;
    EXPECT_FALSE(batch.GuardsIntact(stray.data()));
    stray = batch.outputs();
    stray[batch.offset(0, 2) + 35] = 1;
    EXPECT_TRUE(batch.GuardsIntact(stray.data()));
    EXPECT_EQ(batch.input_bytes() % 4096, 0u);
    EXPECT_EQ(batch.offset(0, last) + 36, batch.input_bytes());
    EXPECT_LE(batch.offset(0, other) + 36 + kGuardBytes, batch.offset(0, last));
  }
  // Calls that are shuffled keep their places.
  EXPECT_FALSE(CallBatch(&arguments_, shape_, 2, {.last_array = 0}).ends_at_page());
}

TEST_F(CallBatchTest, FillIsRepeatableAndCallsDiffer) {
  Use(MatmulProblem());
  CallBatch a(&arguments_, shape_, 2, {}), b(&arguments_, shape_, 2, {});
  a.Fill(1, FillStyle::kPlain);
  b.Fill(1, FillStyle::kPlain);
  EXPECT_EQ(inputs(a), inputs(b));
  EXPECT_NE(std::memcmp(a.inputs() + a.offset(0, 0), a.inputs() + a.offset(1, 0), 36), 0);
  b.Fill(2, FillStyle::kPlain);
  EXPECT_NE(inputs(a), inputs(b));
  EXPECT_EQ(a.scalar(1, 3), 3u);
  for (size_t i = 0; i < 36; ++i)
    EXPECT_EQ(static_cast<uint8_t>(a.outputs()[a.offset(1, 2) + i]), 0xFF) << "poison";
}

TEST_F(CallBatchTest, BoundsOfAFillFollowTheSizes) {
  v1::Problem problem = MatmulProblem();
  v1::Fill* fill = problem.mutable_args(0)->mutable_array()->mutable_fill();
  fill->clear_parameters();
  fill->add_bounds("n");
  fill->add_bounds("n+2");
  Use(problem);  // n = 3
  for (const FillStyle style : {FillStyle::kPlain, FillStyle::kEdges}) {
    CallBatch batch(&arguments_, shape_, 1, {});
    batch.Fill(1, style);
    float a[9];
    std::memcpy(a, batch.inputs() + batch.offset(0, 0), sizeof a);
    for (const float value : a) {
      EXPECT_GE(value, 3);
      EXPECT_LE(value, 5);
    }
  }
  fill->set_bounds(0, "n+3");
  const auto arguments = Arguments::Parse(problem);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->At(problem.sizes().check(2)).status().message(),
            "args.a: the range (n+3, n+2) is empty: 6 > 5");
}

TEST_F(CallBatchTest, EveryFillHasPlacesOfItsOwn) {
  Use(MatmulProblem());
  constexpr int kCalls = 8;
  CallBatch batch(&arguments_, shape_, kCalls, {.seed = 3});
  const size_t bytes = batch.input_bytes();
  std::set<std::vector<size_t>> seen;
  std::set<size_t> strides;
  int in_order = 0;
  for (uint64_t key = 0; key < 20; ++key) {
    batch.Fill(key, FillStyle::kPlain);
    EXPECT_EQ(batch.input_bytes(), bytes) << "the regions stay as they are";
    std::vector<size_t> places;
    for (int call = 0; call < kCalls; ++call) places.push_back(batch.offset(call, 0));
    seen.insert(places);
    in_order += std::is_sorted(places.begin(), places.end()) ? 1 : 0;
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); ++i) {
      // A call has two arrays of 36 bytes among the inputs, each in lines of its own and guarded.
      EXPECT_GE(places[i] - places[i - 1], 2 * (36 + 2 * kGuardBytes));
      strides.insert(places[i] - places[i - 1]);
    }
    EXPECT_LE(places.back() + 2 * (36 + 2 * kGuardBytes), bytes);
    EXPECT_TRUE(batch.GuardsIntact(batch.outputs().data()));
    std::string stray = batch.outputs();
    stray[batch.offset(5, 2) - 1] = 1;
    EXPECT_FALSE(batch.GuardsIntact(stray.data()));
  }
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_GE(strides.size(), 4u) << "the gaps between calls differ";
  EXPECT_LT(in_order, 2);
}

TEST_F(CallBatchTest, LargeInputsAreWrittenWhereTheyAreRead) {
  const v1::Problem problem = MatmulProblem();
  Use(problem);
  v1::SizePoint point;
  (*point.mutable_values())["n"] = 2500;  // The two inputs have 25 MB each.
  const auto shape = arguments_.At(point);
  ASSERT_TRUE(shape.ok()) << shape.status();
  CallBatch batch(&arguments_, *shape, 1, {});
  ASSERT_TRUE(batch.in_place());
  EXPECT_EQ(batch.inputs(), nullptr) << "no image is kept";
  std::vector<char> region(batch.input_bytes() + 128, 7);
  batch.PlaceInputs(region.data() + 64, 64);
  batch.Fill(1, FillStyle::kPlain);
  EXPECT_EQ(batch.inputs(), region.data() + 64);
  float first = 0;
  std::memcpy(&first, batch.inputs() + batch.offset(0, 0), sizeof first);
  EXPECT_NE(first, 0);
  EXPECT_GE(first, -1);
  EXPECT_LE(first, 1);
  EXPECT_EQ(region[63], 7);
  EXPECT_EQ(region[64 + batch.input_bytes()], 7);
}

TEST_F(CallBatchTest, TheTableHoldsAddressesAndScalars) {
  Use(MatmulProblem());
  CallBatch batch(&arguments_, shape_, 2, {});
  batch.Fill(1, FillStyle::kPlain);
  std::vector<uint64_t> table(CallBatch::TableWords(4, 2));
  batch.WriteTable(0x1000000, 0x2000000, table.data());
  EXPECT_EQ(table[0], 0x1000000 + batch.offset(0, 0));
  EXPECT_EQ(table[4 + 2], 0x2000000 + batch.offset(1, 2));
  EXPECT_EQ(table[4 + 3], 3u);
}

// By value or by pointer, the function's entry finds an address.
TEST_F(CallBatchTest, StructsHaveAPlaceInARegion) {
  const v1::Problem problem = DriftProblem();
  Use(problem);
  const auto places = [&](CallRole role) {
    std::string text;
    for (const CallWord& word : WordsOf(arguments_, shape_, role))
      text += word.place == WordPlace::kScalar ? 's' : word.place == WordPlace::kInput ? 'i' : 'o';
    return text;
  };
  EXPECT_EQ(places(CallRole::kKernel), "ioiiso") << "from, to, bounds, step, n, returned";
  EXPECT_EQ(places(CallRole::kGenerator), "ooooss");
  EXPECT_EQ(places(CallRole::kChecker), "iiiisio");
  CallBatch batch(&arguments_, shape_, 1, Placement{.seed = 3, .unaligned = true});
  EXPECT_EQ(batch.offset(0, 0) % 64, 8u) << "aligned to its widest field and to nothing more";
  batch.Fill(1, FillStyle::kPlain);
  float low = 0;
  float by_x = 0;
  std::memcpy(&low, batch.inputs() + batch.offset(0, 2), sizeof low);
  std::memcpy(&by_x, batch.inputs() + batch.offset(0, 3), sizeof by_x);
  EXPECT_NEAR(low, -0.45, 0.05);
  EXPECT_NEAR(by_x, 0.15, 0.05);
  double returned = 0;
  std::memcpy(&returned, batch.outputs().data() + batch.offset(0, 5), sizeof returned);
  EXPECT_TRUE(std::isnan(returned)) << "poison";
}

TEST_F(CallBatchTest, GuardsNoticeAStrayByte) {
  Use(MatmulProblem());
  CallBatch batch(&arguments_, shape_, 2, {});
  batch.Fill(1, FillStyle::kPlain);
  std::string got = batch.outputs();
  EXPECT_TRUE(batch.GuardsIntact(got.data()));
  got[batch.offset(0, 2)] = 1;
  got[batch.offset(1, 2) + 35] = 1;
  EXPECT_TRUE(batch.GuardsIntact(got.data())) << "the arrays themselves may change";
  for (const size_t at : {batch.offset(0, 2) - 1, batch.offset(1, 2) + 36, got.size() - 1}) {
    std::string stray = got;
    stray[at] = 1;
    EXPECT_FALSE(batch.GuardsIntact(stray.data())) << at;
  }
}

TEST_F(CallBatchTest, RolesSeeTheArgumentsTheyNeed) {
  Use(PartitionProblem());  // The words are data (in-out), n, pivot and the returned value.
  const auto kernel = WordsOf(arguments_, shape_, CallRole::kKernel);
  ASSERT_EQ(kernel.size(), 4u);
  EXPECT_EQ(kernel[3].arg, kReturnWord);
  EXPECT_EQ(kernel[3].place, WordPlace::kOutput);
  const auto generator = WordsOf(arguments_, shape_, CallRole::kGenerator);
  ASSERT_EQ(generator.size(), 4u);
  EXPECT_EQ(generator[3].arg, kSeedWord);
  const auto checker = WordsOf(arguments_, shape_, CallRole::kChecker);
  ASSERT_EQ(checker.size(), 6u);
  EXPECT_TRUE(checker[0].before);
  EXPECT_FALSE(checker[1].before);
  EXPECT_EQ(checker[4].arg, kReturnWord);
  EXPECT_EQ(checker[4].place, WordPlace::kScalar);
  EXPECT_EQ(checker[5].arg, kVerdictWord);
}

}  // namespace
}  // namespace whetstone
