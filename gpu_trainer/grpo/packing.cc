#include "gpu_trainer/grpo/packing.h"

#include <algorithm>

#include "common/status_macros.h"

namespace whetstone {
namespace {

void AppendBlock(const Tree& tree, int32_t tree_index, size_t first, size_t end,
                 PackedBatch* batch) {
  Block block{.start = static_cast<int64_t>(batch->ids.size()),
              .prefix = static_cast<int64_t>(tree.prefix.size()),
              .branches = {}};
  const auto append = [batch](int32_t id, int64_t position) {
    batch->ids.push_back(id);
    batch->positions.push_back(static_cast<int32_t>(position));
  };
  for (int64_t i = 0; i < block.prefix; ++i) append(tree.prefix[i], i);
  const int64_t prefix_last = block.start + block.prefix - 1;
  for (size_t b = first; b < end; ++b) {
    const Branch& branch = tree.branches[b];
    const int64_t start = static_cast<int64_t>(batch->ids.size());
    const int64_t rows = static_cast<int64_t>(branch.ids.size()) - 1;
    for (int64_t i = 0; i < rows; ++i) append(branch.ids[i], block.prefix + i);
    block.branches.push_back(rows);
    for (int64_t i = branch.learn_from; i <= rows; ++i) {
      batch->targets.push_back({.row = i == 0 ? prefix_last : start + i - 1,
                                .id = branch.ids[i],
                                .tree = tree_index,
                                .branch = static_cast<int32_t>(b),
                                .token = static_cast<int32_t>(i)});
    }
  }
  batch->blocks.push_back(std::move(block));
}

}  // namespace

std::vector<PackedBatch> Pack(const std::vector<Tree>& trees, int64_t token_budget) {
  std::vector<PackedBatch> batches;
  PackedBatch batch;
  for (size_t t = 0; t < trees.size(); ++t) {
    const Tree& tree = trees[t];
    CHECK(!tree.prefix.empty());
    for (size_t first = 0; first < tree.branches.size();) {
      int64_t tokens = static_cast<int64_t>(batch.ids.size() + tree.prefix.size());
      size_t end = first;
      for (; end < tree.branches.size(); ++end) {
        CHECK(!tree.branches[end].ids.empty());
        const int64_t more = static_cast<int64_t>(tree.branches[end].ids.size()) - 1;
        if (tokens + more > token_budget && (end > first || !batch.ids.empty())) break;
        tokens += more;
      }
      if (end > first) {
        AppendBlock(tree, static_cast<int32_t>(t), first, end, &batch);
        first = end;
      }
      if (first < tree.branches.size()) {
        batches.push_back(std::move(batch));
        batch = PackedBatch();
      }
    }
  }
  if (!batch.ids.empty()) batches.push_back(std::move(batch));
  return batches;
}

std::vector<Tree> ShareCommonPrefix(const std::vector<LearnedSequence>& sequences) {
  std::vector<Tree> trees;
  for (size_t first = 0; first < sequences.size();) {
    const std::vector<int32_t>& head = sequences[first].ids;
    int64_t common = sequences[first].learn_from;
    CHECK(common >= 1 && common < static_cast<int64_t>(head.size()));
    size_t end = first + 1;
    for (; end < sequences.size(); ++end) {
      const LearnedSequence& other = sequences[end];
      CHECK(other.learn_from >= 1 && other.learn_from < static_cast<int64_t>(other.ids.size()));
      const int64_t limit = std::min(common, other.learn_from);
      const int64_t same =
          std::mismatch(head.begin(), head.begin() + limit, other.ids.begin()).first - head.begin();
      if (same == 0) break;
      common = same;
    }
    Tree tree{.prefix = {head.begin(), head.begin() + common}, .branches = {}};
    for (size_t s = first; s < end; ++s) {
      const LearnedSequence& sequence = sequences[s];
      tree.branches.push_back({.ids = {sequence.ids.begin() + common, sequence.ids.end()},
                               .learn_from = sequence.learn_from - common});
    }
    trees.push_back(std::move(tree));
    first = end;
  }
  return trees;
}

}  // namespace whetstone
