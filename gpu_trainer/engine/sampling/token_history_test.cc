#include "gpu_trainer/engine/sampling/token_history.h"

#include <gtest/gtest.h>

#include <vector>

namespace whetstone {
namespace {

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
