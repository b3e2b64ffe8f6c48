#include "gpu_trainer/engine/speculation/draft_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace whetstone {
namespace {

// Takes steps of `sequences` in which `share` of the drafts is right and a row costs `row_cost` of
// a step. Returns the share of the steps that drafted.
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
  // Drafting begins again when the text changes.
  EXPECT_GT(Drafting(wrong, 1, 0.95, 0.05, 600), 0.7);
}

TEST(DraftPolicyTest, TheFirstStepIsMeasuredWithoutDrafts) {
  DraftPolicy policy;
  EXPECT_EQ(policy.DraftMax(1), 0);
  policy.Observe({.sequences = 1, .rows = 1, .tested = 0, .accepted = 0, .seconds = 0.01});
  EXPECT_GT(policy.DraftMax(1), 0);
  EXPECT_EQ(policy.DraftMax(2), 0);
}

}  // namespace
}  // namespace whetstone
