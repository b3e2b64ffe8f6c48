#include "gpu_trainer/train/batch/data_parallel_partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/philox.h"
#include "gpu_trainer/model/decoder_reference.h"

namespace whetstone {
namespace {

// The groups of 4 share a prompt of 40 tokens and have completions of 1 to 40.
std::vector<LearnedSequence> Sequences(int groups) {
  Philox rng(5, {});
  std::vector<LearnedSequence> sequences;
  for (int g = 0; g < groups; ++g) {
    std::vector<int32_t> prompt;
    for (int i = 0; i < 40; ++i) prompt.push_back(static_cast<int32_t>(rng.Below(97)));
    for (int s = 0; s < 4; ++s) {
      LearnedSequence sequence{.ids = prompt, .learn_from = 40, .group = g};
      const int64_t length = 1 + static_cast<int64_t>(rng.Below(40));
      for (int64_t i = 0; i < length; ++i) {
        sequence.ids.push_back(static_cast<int32_t>(rng.Below(97)));
      }
      sequences.push_back(std::move(sequence));
    }
  }
  return sequences;
}

TEST(PackForRank, EverySequenceGoesToOneRankAndCostsAreBalanced) {
  const ModelConfig config = reference::TinyConfig();
  for (const int groups : {1, 3, 8}) {
    const std::vector<LearnedSequence> sequences = Sequences(groups);
    for (const int64_t tokens : {128, 1 << 20}) {
      const PackLimits limits{.tokens = tokens, .tokens_max = tokens};
      double alone = 0;
      for (const PackedBatch& batch : Pack(sequences, limits)) alone += CostOf(batch, config);
      for (const int ranks : {1, 2, 4, 40}) {
        std::vector<int> seen(sequences.size(), 0);
        double longest = 0;
        for (int r = 0; r < ranks; ++r) {
          double cost = 0;
          for (const PackedBatch& batch : PackForRank(sequences, limits, config, r, ranks)) {
            EXPECT_LE(batch.ids.size(), static_cast<size_t>(tokens));
            for (const Path& path : batch.paths) ++seen[path.sequence];
            cost += CostOf(batch, config);
          }
          longest = std::max(longest, cost);
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<int64_t>(seen.size()));
        if (ranks == 1) {
          EXPECT_DOUBLE_EQ(longest, alone);
        }
        // A cut group encodes its prompt again, which is half of it here.
        if (ranks == 2) {
          EXPECT_LT(longest, (groups == 8 ? 0.6 : 0.75) * alone);
        }
        if (ranks == 4 && groups == 8) {
          EXPECT_LT(longest, 0.35 * alone);
        }
      }
    }
  }
}

TEST(PackForRank, ALongSequenceCostsMoreThanItsTokensSay) {
  ModelConfig config = reference::TinyConfig();
  const auto cost = [&](int64_t length) {
    LearnedSequence sequence{.ids = std::vector<int32_t>(length + 1, 7), .learn_from = length};
    return CostOf(Pack({sequence}, {.tokens = 1 << 20, .tokens_max = 1 << 20})[0], config);
  };
  EXPECT_GT(cost(8000), 2.5 * cost(4000));
  EXPECT_LT(cost(64), 2 * cost(32)) << "starting a batch costs something";
}

}  // namespace
}  // namespace whetstone
