#include "gpu_trainer/engine/speculation/speculator.h"

#include <gtest/gtest.h>

#include <vector>

namespace whetstone {
namespace {

using Ids = std::vector<int32_t>;

// Returns the tokens that Verify returns where the model would draw `would`.
Ids Verified(const Ids& draft, const Ids& would) {
  Ids drawn;
  for (const SampledToken& token : Speculator::Verify(
           draft, [&](size_t i) { return SampledToken{.id = would.at(i), .logprob = 0}; })) {
    drawn.push_back(token.id);
  }
  return drawn;
}

TEST(SpeculatorTest, KeepsWhatTheDraftGotRightAndOneMore) {
  EXPECT_EQ(Verified({}, {7}), (Ids{7}));
  EXPECT_EQ(Verified({7, 8}, {7, 8, 9}), (Ids{7, 8, 9}));
  EXPECT_EQ(Verified({7, 8}, {7, 1}), (Ids{7, 1}));
  // What was drawn after a wrong guess would have come from the wrong logits: it is not drawn.
  EXPECT_EQ(Verified({7, 8}, {1}), (Ids{1}));
}

TEST(SpeculatorTest, DraftsAfterAStepWithoutDraftsAndCounts) {
  Speculator speculator(/*enabled=*/true);
  const Ids prompt = {1, 2, 3, 4, 5, 6}, sampled = {1, 2, 3};
  speculator.BeginStep(1);
  EXPECT_EQ(speculator.Propose(prompt, sampled, 9), Ids{});
  speculator.Count({}, {SampledToken{.id = 3, .logprob = 0}});
  speculator.EndStep(0.01);

  speculator.BeginStep(1);
  const Ids draft = speculator.Propose(prompt, sampled, 3);
  EXPECT_EQ(draft, (Ids{4, 5}));  // Three rows are as many as the sequence may still get.
  EXPECT_EQ(speculator.Propose(prompt, sampled, 1), Ids{});
  speculator.Count(draft,
                   {SampledToken{.id = 4, .logprob = 0}, SampledToken{.id = 9, .logprob = 0}});
  speculator.EndStep(0.01);
  EXPECT_EQ(speculator.drafted(), 2);
  EXPECT_EQ(speculator.accepted(), 1);
}

TEST(SpeculatorTest, NeverDraftsUnlessEnabled) {
  Speculator speculator(/*enabled=*/false);
  for (int i = 0; i < 5; ++i) {
    speculator.BeginStep(1);
    EXPECT_EQ(speculator.Propose({1, 2, 3}, {1, 2}, 9), Ids{});
    speculator.Count({}, {SampledToken{.id = 3, .logprob = 0}});
    speculator.EndStep(0.01);
  }
  EXPECT_EQ(speculator.drafted(), 0);
}

}  // namespace
}  // namespace whetstone
