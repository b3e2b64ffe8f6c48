#include "gpu_trainer/engine/speculation/prompt_lookup.h"

#include <gtest/gtest.h>

#include <vector>

namespace whetstone {
namespace {

using Ids = std::vector<int32_t>;

TEST(FindDraftTest, WhatFollowedTheLatestOccurrence) {
  EXPECT_EQ(FindDraft({1, 2, 3, 4, 5, 9, 1, 2, 3, 6, 7}, {1, 2, 3}, 2), (Ids{6, 7}));
  // Three tokens decide before two, though two occur later.
  EXPECT_EQ(FindDraft({1, 2, 3, 4, 8, 2, 3, 5}, {1, 2, 3}, 1), (Ids{4}));
  EXPECT_EQ(FindDraft({2, 3, 5, 0}, {1, 2, 3}, 8), (Ids{5, 0, 1, 2, 3}));
  // A draft goes across the end of the prompt, and no further than what is known.
  EXPECT_EQ(FindDraft({7, 8}, {9, 7, 8}, 8), (Ids{9, 7, 8}));
  EXPECT_EQ(FindDraft({4, 4, 4}, {4}, 8), (Ids{4}));
  EXPECT_EQ(FindDraft({1, 2, 3}, {4, 5}, 8), Ids{});
  EXPECT_EQ(FindDraft({1}, {}, 8), Ids{});
  EXPECT_EQ(FindDraft({}, {1}, 8), Ids{});
}

}  // namespace
}  // namespace whetstone
