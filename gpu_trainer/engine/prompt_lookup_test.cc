#include "gpu_trainer/engine/prompt_lookup.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_trainer/engine/token_history.h"

namespace whetstone {
namespace {

using Ids = std::vector<int32_t>;

TEST(FindDraftTest, WhatFollowedTheLatestOccurrence) {
  EXPECT_EQ(FindDraft({1, 2, 3, 4, 5, 9, 1, 2, 3, 6, 7}, {1, 2, 3}, 2), (Ids{6, 7}));
  // Three tokens before two, though two occur later.
  EXPECT_EQ(FindDraft({1, 2, 3, 4, 8, 2, 3, 5}, {1, 2, 3}, 1), (Ids{4}));
  EXPECT_EQ(FindDraft({2, 3, 5, 0}, {1, 2, 3}, 8), (Ids{5, 0, 1, 2, 3}));
  // Across the end of the prompt, and no further than what is known.
  EXPECT_EQ(FindDraft({7, 8}, {9, 7, 8}, 8), (Ids{9, 7, 8}));
  EXPECT_EQ(FindDraft({4, 4, 4}, {4}, 8), (Ids{4}));
  EXPECT_EQ(FindDraft({1, 2, 3}, {4, 5}, 8), Ids{});
  EXPECT_EQ(FindDraft({1}, {}, 8), Ids{});
  EXPECT_EQ(FindDraft({}, {1}, 8), Ids{});
}

// Steps of `sequences` where `share` of the drafts is right and a row costs `row_cost` of a step.
// Returns the share of the steps that drafted.
double Drafting(DraftPolicy& policy, int64_t sequences, double share, double row_cost, int steps) {
  int drafted_steps = 0;
  double owed = 0;
  for (int i = 0; i < steps; ++i) {
    const int64_t drafted = policy.DraftMax(sequences);
    drafted_steps += drafted > 0;
    int64_t accepted = 0;
    while (accepted < drafted && (owed += share) >= 1) owed -= 1, ++accepted;
    const int64_t tested = std::min(drafted, accepted + 1);
    policy.Observe({.sequences = sequences,
                    .rows = sequences + drafted,
                    .tested = tested,
                    .accepted = accepted,
                    .seconds = 0.01 * (1 + row_cost * static_cast<double>(drafted))});
  }
  return drafted_steps / static_cast<double>(steps);
}

TEST(DraftPolicyTest, DraftsOnlyWhereItPays) {
  DraftPolicy right;
  EXPECT_GT(Drafting(right, 1, 0.9, 0.05, 300), 0.9);
  DraftPolicy wrong;
  EXPECT_LT(Drafting(wrong, 1, 0.02, 0.05, 600), 0.15);
  DraftPolicy dear;
  EXPECT_LT(Drafting(dear, 4, 0.5, 0.8, 600), 0.15);
  DraftPolicy many;
  EXPECT_EQ(Drafting(many, 5, 1, 0, 20), 0);
  // And begins again when the text changes.
  EXPECT_GT(Drafting(wrong, 1, 0.95, 0.05, 600), 0.7);
}

TEST(DraftPolicyTest, TheFirstStepIsMeasuredWithoutDrafts) {
  DraftPolicy policy;
  EXPECT_EQ(policy.DraftMax(1), 0);
  policy.Observe({.sequences = 1, .rows = 1, .tested = 0, .accepted = 0, .seconds = 0.01});
  EXPECT_GT(policy.DraftMax(1), 0);
  EXPECT_EQ(policy.DraftMax(2), 0);
}

TEST(TokenHistoryTest, PenalizesWhatWasSeen) {
  TokenHistory history({0, 1, 1});
  history.Add(2);
  history.Add(2);
  history.Add(1);
  std::vector<float> logits = {3, -2, 4, 5};
  history.Penalize({.repetition = 2, .presence = 0, .frequency = 0}, logits.data());
  EXPECT_EQ(logits, (std::vector<float>{1.5, -4, 2, 5}));
  history.Penalize({.repetition = 1, .presence = 0.5, .frequency = 0.25}, logits.data());
  EXPECT_EQ(logits, (std::vector<float>{1.5, -4.75, 1, 5}));
}

}  // namespace
}  // namespace whetstone
