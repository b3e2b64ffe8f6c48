#include "cpu_bench_worker/timing/played_rounds.h"

#include <gtest/gtest.h>

#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {
namespace {

// `speedup` tells rounds apart.
PlayedRound Round(size_t size, int pair, double speedup, bool shared) {
  return {.size = size,
          .pair = pair,
          .reference_ns = 100 * speedup,
          .candidate_ns = 100,
          .shared = shared};
}

TEST(PlayedRoundsTest, WithoutANeighbourAllCount) {
  PlayedRounds played(2);
  for (int pair = 1; pair <= 2; ++pair)
    for (size_t size = 0; size < 2; ++size)
      for (int i = 0; i < 3; ++i) played.Add(Round(size, pair, pair + 10.0 * size, false));
  EXPECT_EQ(played.AlonePairs(), 2);
  EXPECT_EQ(played.SharedRounds(0), 0);
  const std::vector<PairedRatios> expected = {{{1, 1, 1}, {2, 2, 2}}, {{11, 11, 11}, {12, 12, 12}}};
  EXPECT_EQ(played.Ratios(), expected);
}

TEST(PlayedRoundsTest, EnoughPairsAloneDoWithoutWhatWasShared) {
  PlayedRounds played(1);
  for (int pair = 1; pair <= kAlonePairsMin; ++pair) {
    EXPECT_EQ(played.Ratios()[0].size(), static_cast<size_t>(pair - 1)) << "all count until then";
    played.Add(Round(0, pair, 2, true));
    played.Add(Round(0, pair, 3, false));
  }
  played.Add(Round(0, 9, 2, true));
  EXPECT_EQ(played.AlonePairs(), kAlonePairsMin);
  EXPECT_EQ(played.SharedRounds(0), kAlonePairsMin + 1);
  EXPECT_EQ(played.Ratios(), std::vector<PairedRatios>{PairedRatios(kAlonePairsMin, {3.0})});
}

TEST(PlayedRoundsTest, WhereNearlyAllWereSharedAllCount) {
  PlayedRounds played(1);
  for (int pair = 1; pair <= 5; ++pair) {
    played.Add(Round(0, pair, 2, true));
    if (pair < kAlonePairsMin) played.Add(Round(0, pair, 3, false));
  }
  EXPECT_EQ(played.AlonePairs(), kAlonePairsMin - 1);
  const PairedRatios expected = {{2, 3}, {2, 3}, {2}, {2}, {2}};
  EXPECT_EQ(played.Ratios(), std::vector<PairedRatios>{expected});
}

// Pairs are the clusters of the interval, so each must be one at every size.
TEST(PlayedRoundsTest, APairThatHadTheCoreAtOneSizeOnlyDoesNotCount) {
  PlayedRounds played(2);
  for (int pair = 1; pair <= 6; ++pair) {
    played.Add(Round(0, pair, pair, false));
    played.Add(Round(1, pair, 10 + pair, pair % 2 == 0));
  }
  EXPECT_EQ(played.AlonePairs(), 3);
  const std::vector<PairedRatios> expected = {{{1}, {3}, {5}}, {{11}, {13}, {15}}};
  EXPECT_EQ(played.Ratios(), expected) << "in the order of time";
}

TEST(PlayedRoundsTest, NothingPlayedIsNothing) {
  const PlayedRounds played(2);
  EXPECT_EQ(played.AlonePairs(), 0);
  EXPECT_EQ(played.Ratios(), std::vector<PairedRatios>(2));
}

}  // namespace
}  // namespace whetstone
