// Sequences laid end to end without padding, what they have in common only once.
//
// A Tree is a prefix and the branches that continue it: a GRPO group is its prompt and G
// completions, a batch of worked examples is the text they all start with and what follows it. The
// tokens of a tree's block are packed as
//
//   prefix | branch 0 without its last token | branch 1 without its last token | …
//
// (a branch's last token is learned but never read). A branch's token sees the prefix and its own
// branch up to itself; its position counts on from the prefix.
//
//   std::vector<PackedBatch> batches = Pack(trees, /*token_budget=*/4096);
#ifndef WHETSTONE_GPU_TRAINER_GRPO_PACKING_H_
#define WHETSTONE_GPU_TRAINER_GRPO_PACKING_H_

#include <cstdint>
#include <vector>

namespace whetstone {

struct Branch {
  std::vector<int32_t> ids;  // at least one
  int64_t learn_from = 0;    // the first of them that is learned
};

struct Tree {
  std::vector<int32_t> prefix;  // at least one
  std::vector<Branch> branches;
};

// One tree's rows [start, start + prefix + sum(branches)) of a packed batch.
struct Block {
  int64_t start = 0;
  int64_t prefix = 0;
  std::vector<int64_t> branches;  // rows of each; may be 0
};

// A learned token: row `row` of the last hidden state predicts `id`.
struct Target {
  int64_t row = 0;
  int32_t id = 0;
  // Where it came from.
  int32_t tree = 0;
  int32_t branch = 0;
  int32_t token = 0;  // index within the branch
};

struct PackedBatch {
  std::vector<int32_t> ids;
  std::vector<int32_t> positions;  // one per id
  std::vector<Block> blocks;
  std::vector<Target> targets;
};

// Splits the trees into batches of at most `token_budget` packed tokens, in order; a tree that is
// larger is split between branches, its prefix repeated. A single branch over the budget gets a
// batch of its own. Trees without branches are left out.
std::vector<PackedBatch> Pack(const std::vector<Tree>& trees, int64_t token_budget);

// The sequences as one tree, prefix = what all have in common, but no learned token (so at least
// one token of each is left to its branch). Tokens from `learn_from` on are learned.
struct LearnedSequence {
  std::vector<int32_t> ids;
  int64_t learn_from = 1;  // >= 1: a first token is not predicted by anything
};
// Sequences that do not even share their first token end up in several trees.
std::vector<Tree> ShareCommonPrefix(const std::vector<LearnedSequence>& sequences);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_PACKING_H_
