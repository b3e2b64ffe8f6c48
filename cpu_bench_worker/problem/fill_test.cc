#include "cpu_bench_worker/problem/fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "common/philox.h"
#include "cpu_bench_worker/problem/element.h"
#include "cpu_bench_worker/problem/random_words.h"

namespace whetstone {
namespace {

v1::Fill MakeFill(v1::Fill::Kind kind, std::vector<double> parameters = {}) {
  v1::Fill fill;
  fill.set_kind(kind);
  for (const double p : parameters) fill.add_parameters(p);
  return fill;
}

template <typename T>
std::vector<T> Filled(v1::ElementType type, const v1::Fill& fill, int64_t count, uint64_t key = 7,
                      FillStyle style = FillStyle::kPlain) {
  std::vector<T> values(static_cast<size_t>(count));
  FillElements(type, fill, style, count, key, values.data());
  return values;
}

TEST(RandomWordsTest, IsPhilox) {
  std::vector<uint32_t> words(3 * kRandomBlockWords);
  const uint64_t key = 0x0123456789ABCDEFull;
  const uint64_t first = 0xFFFFFFFull;  // Its counters cross 2^32.
  RandomBlocks(key, first, 3, words.data());
  for (uint32_t b = 0; b < 3; ++b) {
    for (uint32_t lane = 0; lane < 16; ++lane) {
      const uint64_t counter = 16 * (first + b) + lane;
      const auto want =
          Philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                     {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
      for (uint32_t w = 0; w < 4; ++w)
        ASSERT_EQ(words[kRandomBlockWords * b + 16 * w + lane], want[w]) << b << " " << lane;
    }
  }
}

TEST(FillTest, UniformFloatsCoverTheRange) {
  const auto values = Filled<float>(v1::F32, MakeFill(v1::Fill::UNIFORM, {-1, 3}), 100'001);
  const auto [lo, hi] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*lo, -1);
  EXPECT_LT(*lo, -0.99);
  EXPECT_LE(*hi, 3);
  EXPECT_GT(*hi, 2.99);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 100'001, 1.0, 0.02);
}

TEST(FillTest, UniformIntegersAreInclusive) {
  const auto values = Filled<int8_t>(v1::I8, MakeFill(v1::Fill::UNIFORM, {-128, 127}), 100'000);
  std::vector<int> seen(256);
  for (const int8_t v : values) ++seen[static_cast<size_t>(v + 128)];
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 250);
  EXPECT_LT(*std::max_element(seen.begin(), seen.end()), 550);
  for (const int64_t v : Filled<int64_t>(v1::I64, MakeFill(v1::Fill::UNIFORM, {-3, -3}), 100))
    EXPECT_EQ(v, -3);
  const double big = 1e15;
  for (const int64_t v : Filled<int64_t>(v1::I64, MakeFill(v1::Fill::UNIFORM, {-big, big}), 1000))
    EXPECT_LE(std::llabs(v), static_cast<int64_t>(big));
}

// 2^64 - 1 and 2^63 - 1 are no doubles: as parameters they arrive rounded up.
TEST(FillTest, TheWholeRangeOf64BitsIsDrawn) {
  const auto bits = [](const auto& values) {
    uint64_t any = 0, all = ~uint64_t{0};
    for (const auto v : values) any |= static_cast<uint64_t>(v), all &= static_cast<uint64_t>(v);
    return any & ~all;
  };
  EXPECT_EQ(bits(Filled<uint64_t>(v1::U64, MakeFill(v1::Fill::UNIFORM, {0, 0x1p64}), 1000)),
            ~uint64_t{0});
  EXPECT_EQ(bits(Filled<int64_t>(v1::I64, MakeFill(v1::Fill::UNIFORM, {-0x1p63, 0x1p63}), 1000)),
            ~uint64_t{0});
}

TEST(FillTest, NormalHasItsMoments) {
  const auto values = Filled<double>(v1::F64, MakeFill(v1::Fill::NORMAL, {2, 3}), 100'001);
  double sum = 0;
  double squares = 0;
  for (const double v : values) {
    ASSERT_TRUE(std::isfinite(v));
    sum += v;
    squares += (v - 2) * (v - 2);
  }
  EXPECT_NEAR(sum / 100'001, 2, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 100'001), 3, 0.05);
}

TEST(FillTest, PermutationsSortedAndIota) {
  auto values = Filled<int>(v1::I32, MakeFill(v1::Fill::PERMUTATION), 5000);
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  std::sort(values.begin(), values.end());
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i);
  const auto sorted = Filled<uint16_t>(v1::U16, MakeFill(v1::Fill::SORTED, {10, 20}), 5000);
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  EXPECT_EQ(sorted.front(), 10);
  EXPECT_EQ(sorted.back(), 20);
  EXPECT_EQ(Filled<int>(v1::I32, MakeFill(v1::Fill::IOTA), 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(Filled<int>(v1::I32, MakeFill(v1::Fill::ZERO), 2), (std::vector<int>{0, 0}));
}

TEST(FillTest, OneOfGivesEachValueAsOften) {
  std::map<int, int> count;
  for (const uint8_t each :
       Filled<uint8_t>(v1::U8, MakeFill(v1::Fill::ONE_OF, {65, 67, 84}), 30'000))
    ++count[each];
  ASSERT_EQ(count.size(), 3u);
  for (const int value : {65, 67, 84}) EXPECT_NEAR(count[value], 10'000, 500) << value;
}

TEST(FillTest, KeysMakeStreamsAndEqualKeysAreEqual) {
  const v1::Fill fill = MakeFill(v1::Fill::UNIFORM, {0, 1});
  EXPECT_EQ(Filled<float>(v1::F32, fill, 100, 1), Filled<float>(v1::F32, fill, 100, 1));
  EXPECT_NE(Filled<float>(v1::F32, fill, 100, 1), Filled<float>(v1::F32, fill, 100, 2));
  const auto longer = Filled<float>(v1::F32, fill, 5000, 1);
  const auto shorter = Filled<float>(v1::F32, fill, 100, 1);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(FillTest, EdgesStayInTheDomainAndAreThere) {
  const auto values =
      Filled<float>(v1::F32, MakeFill(v1::Fill::UNIFORM, {-2, 5}), 4000, 3, FillStyle::kEdges);
  for (const float edge : {-2.0f, 5.0f, 0.0f})
    EXPECT_GT(std::count(values.begin(), values.end(), edge), 100) << edge;
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -2);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 5);
}

TEST(FillTest, PoisonIsNanOrARandomByte) {
  EXPECT_EQ(PoisonByte(v1::F32, 1), 0xFF);
  bool differs = false;
  for (uint64_t key = 0; key < 20; ++key) {
    EXPECT_GE(PoisonByte(v1::I32, key), 0x80);
    differs |= PoisonByte(v1::I32, key) != PoisonByte(v1::I32, 0);
  }
  EXPECT_TRUE(differs);
}

struct Mixed {
  uint8_t byte;
  double value;
  int32_t id;
};

ElementLayout MixedLayout() {
  v1::StructType type;
  type.set_name("Mixed");
  for (const auto& [name, element] :
       {std::pair("byte", v1::U8), std::pair("value", v1::F64), std::pair("id", v1::I32)}) {
    type.add_fields()->set_name(name);
    type.mutable_fields()->rbegin()->set_type(element);
  }
  return LayoutOf(type);
}

TEST(FillTest, EachFieldOfAStructIsFilledByItself) {
  constexpr int64_t kCount = 3000;
  std::vector<Mixed> structs(kCount);
  std::memset(static_cast<void*>(structs.data()), 0x5A, kCount * sizeof(Mixed));
  FillElements(MixedLayout(),
               {MakeFill(v1::Fill::UNIFORM, {3, 5}), MakeFill(v1::Fill::SORTED, {-1, 1}),
                MakeFill(v1::Fill::PERMUTATION)},
               FillStyle::kPlain, kCount, 7, structs.data());
  std::set<int> bytes;
  std::set<int> ids;
  for (size_t i = 0; i < structs.size(); ++i) {
    bytes.insert(structs[i].byte);
    ids.insert(structs[i].id);
    EXPECT_LE(structs[i == 0 ? 0 : i - 1].value, structs[i].value);
    EXPECT_EQ(reinterpret_cast<const uint8_t*>(&structs[i])[5], 0x5A) << "padding is left alone";
  }
  EXPECT_EQ(bytes, (std::set<int>{3, 4, 5}));
  EXPECT_EQ(ids.size(), structs.size());
  EXPECT_EQ(*ids.rbegin(), kCount - 1);
}

TEST(FillTest, FieldsOfOneTypeAreNotAlike) {
  v1::StructType type;
  type.set_name("Point");
  for (const char* name : {"x", "y"}) {
    type.add_fields()->set_name(name);
    type.mutable_fields()->rbegin()->set_type(v1::F32);
  }
  std::vector<float> points(200);
  const v1::Fill fill = MakeFill(v1::Fill::UNIFORM, {0, 1});
  FillElements(LayoutOf(type), {fill, fill}, FillStyle::kPlain, 100, 7, points.data());
  int equal = 0;
  for (size_t i = 0; i < points.size(); i += 2) equal += points[i] == points[i + 1];
  EXPECT_LT(equal, 5);
}

TEST(FillTest, EachNumberOfAFieldsArrayIsFilledByItself) {
  struct SymOp {
    double r[9];
    double t[3];
    char prefix[16];
  };
  v1::StructType type;
  type.set_name("SymOp");
  for (const auto& [name, element, extent] :
       {std::tuple("r", v1::F64, 9), std::tuple("t", v1::F64, 3), std::tuple("p", v1::I8, 16)}) {
    v1::StructType::Field* field = type.add_fields();
    field->set_name(name);
    field->set_type(element);
    field->add_extents(static_cast<uint32_t>(extent));
  }
  const ElementLayout layout = LayoutOf(type);
  ASSERT_EQ(layout.bytes, sizeof(SymOp));
  std::vector<v1::Fill> fills(9, MakeFill(v1::Fill::UNIFORM, {2, 3}));
  fills.resize(12, MakeFill(v1::Fill::IOTA));
  fills.resize(28, MakeFill(v1::Fill::UNIFORM, {97, 99}));
  std::vector<SymOp> ops(40);
  FillElements(layout, fills, FillStyle::kPlain, 40, 7, ops.data());
  std::set<double> numbers;
  std::set<int> letters;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const double number : ops[i].r) {
      numbers.insert(number);
      EXPECT_TRUE(number >= 2 && number < 3) << number;
    }
    for (const double number : ops[i].t) EXPECT_EQ(number, static_cast<double>(i));
    letters.insert(std::begin(ops[i].prefix), std::end(ops[i].prefix));
  }
  EXPECT_EQ(numbers.size(), 360u) << "no number of the array is another's";
  EXPECT_EQ(letters, (std::set<int>{97, 98, 99}));
}

TEST(FillTest, EachFieldOfAStructIsPoisoned) {
  std::vector<Mixed> structs(5);
  PoisonElements(MixedLayout(), 5, 3, structs.data());
  for (const Mixed& s : structs) {
    EXPECT_TRUE(std::isnan(s.value));
    EXPECT_GE(s.byte, 0x80);
    EXPECT_LT(s.id, 0);
    EXPECT_EQ(s.id, structs[0].id);
  }
}

TEST(ElementTest, Bf16RoundsToNearestEven) {
  EXPECT_EQ(ToFloat(ToBf16(1.0f)), 1.0f);
  // Halfway between 1 and the next it goes to the even one.
  EXPECT_EQ(ToBf16(1.00390625f).bits, 0x3F80);
  EXPECT_EQ(ToBf16(1.01171875f).bits, 0x3F82);
  EXPECT_TRUE(std::isnan(ToFloat(ToBf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace whetstone
