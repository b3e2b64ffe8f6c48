#include "gpu_trainer/train/batch/packing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/philox.h"

namespace whetstone {
namespace {

constexpr PackLimits kAll = {.tokens = 1 << 20, .tokens_max = 1 << 20};

// Returns the ids on the way to a row, that row's included.
std::vector<int32_t> WayTo(const PackedBatch& batch, int64_t row) {
  size_t n = 0;
  while (row >= batch.nodes[n].begin + batch.nodes[n].rows) ++n;
  std::vector<int32_t> ids;
  for (int64_t end = row + 1;;) {
    const Node& node = batch.nodes[n];
    for (int64_t r = end; r-- > node.begin;) ids.push_back(batch.ids[r]);
    if (node.parent < 0) break;
    n = static_cast<size_t>(node.parent);
    end = batch.nodes[n].begin + batch.nodes[n].rows;
  }
  std::reverse(ids.begin(), ids.end());
  return ids;
}

// Every learned token has a target whose row has read just what comes before the token.
void ExpectFaithful(const std::vector<LearnedSequence>& sequences,
                    const std::vector<PackedBatch>& batches) {
  std::vector<int> seen(sequences.size(), 0);
  for (const PackedBatch& batch : batches) {
    int64_t rows = 0;
    for (const Node& node : batch.nodes) {
      EXPECT_EQ(node.begin, rows);
      rows += node.rows;
    }
    EXPECT_EQ(rows, static_cast<int64_t>(batch.ids.size()));
    size_t uses = 0;
    for (const std::vector<Use>& of_target : batch.uses) uses += of_target.size();
    for (size_t p = 0; p < batch.paths.size(); ++p) {
      const Path& path = batch.paths[p];
      const LearnedSequence& sequence = sequences[path.sequence];
      ++seen[path.sequence];
      ASSERT_EQ(path.targets.size(), sequence.ids.size() - sequence.learn_from);
      for (size_t i = 0; i < path.targets.size(); ++i) {
        const Target& target = batch.targets[path.targets[i]];
        const auto end = sequence.ids.begin() + sequence.learn_from + static_cast<int64_t>(i);
        EXPECT_EQ(target.id, *end);
        EXPECT_EQ(WayTo(batch, target.row), std::vector<int32_t>(sequence.ids.begin(), end));
        EXPECT_EQ(batch.positions[target.row] + 1, end - sequence.ids.begin());
        const std::vector<Use>& of_target = batch.uses[path.targets[i]];
        EXPECT_EQ(std::count_if(of_target.begin(), of_target.end(),
                                [&](const Use& use) {
                                  return use.path == static_cast<int32_t>(p) &&
                                         use.token == static_cast<int32_t>(i);
                                }),
                  1);
      }
      uses -= path.targets.size();
    }
    EXPECT_EQ(uses, 0u);
  }
  EXPECT_EQ(seen, std::vector<int>(sequences.size(), 1));
}

TEST(Pack, ComputesWhatSequencesShareOnce) {
  const std::vector<LearnedSequence> sequences = {
      {.ids = {1, 2, 3, 4, 5}, .learn_from = 2}, {.ids = {1, 2, 3, 4, 6}, .learn_from = 3},
      {.ids = {1, 2, 3, 4, 5}, .learn_from = 2}, {.ids = {1, 2, 3}, .learn_from = 2},
      {.ids = {1, 2, 9, 9}, .learn_from = 1},    {.ids = {7, 8}, .learn_from = 1}};
  const std::vector<PackedBatch> batches = Pack(sequences, kAll);
  ASSERT_EQ(batches.size(), 1u);
  ExpectFaithful(sequences, batches);
  // The nodes are 1 2 | 3 4 | 9, and 7.
  EXPECT_EQ(batches[0].ids, (std::vector<int32_t>{1, 2, 3, 4, 9, 7}));
  ASSERT_EQ(batches[0].nodes.size(), 4u);
  EXPECT_EQ(batches[0].nodes[1].parent, 0);
  EXPECT_EQ(batches[0].nodes[2].parent, 0);
  EXPECT_EQ(batches[0].nodes[3].parent, -1);
  // The targets are 2 after 1; 3 and 9 after 1 2; 4; 5 and 6; the second 9; 8.
  EXPECT_EQ(batches[0].targets.size(), 8u);
}

TEST(Pack, AnySequencesAndAnyLimitsAreFaithful) {
  Philox rng(5, {0, 0, 0, 0});
  for (int round = 0; round < 200; ++round) {
    std::vector<LearnedSequence> sequences(1 + rng.Below(12));
    for (LearnedSequence& sequence : sequences) {
      // With two letters much is shared.
      sequence.ids.resize(2 + rng.Below(9));
      for (int32_t& id : sequence.ids) id = static_cast<int32_t>(rng.Below(2));
      sequence.learn_from = 1 + static_cast<int64_t>(rng.Below(sequence.ids.size() - 1));
      sequence.group = static_cast<int32_t>(rng.Below(3));
    }
    ExpectFaithful(sequences, Pack(sequences, kAll));
    const int64_t tokens = 1 + static_cast<int64_t>(rng.Below(20));
    const int64_t more = static_cast<int64_t>(rng.Below(20));
    const std::vector<PackedBatch> batches =
        Pack(sequences, {.tokens = tokens, .tokens_max = tokens + more});
    ExpectFaithful(sequences, batches);
    for (const PackedBatch& batch : batches) {
      if (batch.paths.size() > 1) {
        EXPECT_LE(static_cast<int64_t>(batch.ids.size()), tokens + more);
      }
    }
  }
}

TEST(Pack, AGroupStaysWholeWhereItFits) {
  std::vector<LearnedSequence> sequences;
  for (int32_t group = 0; group < 3; ++group) {
    for (int32_t i = 0; i < 4; ++i) {
      sequences.push_back(
          {.ids = {group, group, group, group, i, i, i}, .learn_from = 4, .group = group});
    }
  }
  // A group has 4 + 4 * 2 rows.
  EXPECT_EQ(Pack(sequences, {.tokens = 12, .tokens_max = 12}).size(), 3u);
  EXPECT_EQ(Pack(sequences, {.tokens = 10, .tokens_max = 12}).size(), 3u);
  EXPECT_EQ(Pack(sequences, {.tokens = 23, .tokens_max = 23}).size(), 3u);
  EXPECT_EQ(Pack(sequences, {.tokens = 24, .tokens_max = 24}).size(), 2u);
  EXPECT_EQ(Pack(sequences, {.tokens = 8, .tokens_max = 8}).size(), 6u);
}

}  // namespace
}  // namespace whetstone
