#include "coordinator/trace/trace_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace whetstone {
namespace {

TEST(LanesTest, WhatRunsSideBySideHasLanesOfItsOwn) {
  Lanes lanes;
  EXPECT_EQ(lanes.Put({0, 10'000}).lane, 0u);
  EXPECT_EQ(lanes.Put({5'000, 15'000}).lane, 1u);
  EXPECT_EQ(lanes.Put({2'000, 20'000}).lane, 2u);
  EXPECT_EQ(lanes.Put({30'000, 40'000}).lane, 0u);
  EXPECT_EQ(lanes.Put({10'000, 30'000}).lane, 0u) << "between two that came before";
}

TEST(LanesTest, ClocksMayDifferByALittle) {
  Lanes lanes;
  lanes.Put({0, 10'000});
  lanes.Put({20'000, 30'000});
  const Lanes::Place between = lanes.Put({9'500, 20'400});
  EXPECT_EQ(between.lane, 0u);
  EXPECT_EQ(between.span.begin_us, 10'000);
  EXPECT_EQ(between.span.end_us, 20'000);
  EXPECT_EQ(lanes.Put({28'000, 35'000}).lane, 1u) << "that is no little";
  EXPECT_EQ(lanes.Put({2'000, 2'500}).lane, 1u) << "and this is within another";
}

TEST(LanesTest, EverySpanHasALength) {
  Lanes lanes;
  const Lanes::Place place = lanes.Put({7, 3});
  EXPECT_EQ(place.span.begin_us, 7);
  EXPECT_EQ(place.span.end_us, 8);
}

TEST(LanesTest, NoTwoOfALaneOverlap) {
  std::mt19937 random(5);
  Lanes lanes;
  std::map<size_t, std::vector<TraceSpan>> placed;
  for (int i = 0; i < 3000; ++i) {
    const int64_t begin = static_cast<int64_t>(random() % 1'000'000);
    const int64_t length = static_cast<int64_t>(random() % (i % 7 == 0 ? 50'000 : 2'000));
    const Lanes::Place place = lanes.Put({begin, begin + length});
    EXPECT_LT(place.span.begin_us, place.span.end_us);
    EXPECT_LE(place.span.begin_us - begin, Lanes::kTrimUsMax);
    placed[place.lane].push_back(place.span);
  }
  EXPECT_LT(placed.size(), 300u);
  for (auto& [lane, spans] : placed) {
    std::ranges::sort(spans, {}, &TraceSpan::begin_us);
    for (size_t i = 1; i < spans.size(); ++i) {
      EXPECT_LE(spans[i - 1].end_us, spans[i].begin_us) << "lane " << lane;
    }
  }
}

}  // namespace
}  // namespace whetstone
