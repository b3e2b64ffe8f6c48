// Lays sequences end to end without padding, what they have in common computed only once.
//
// The sequences of a micro-batch form a trie: a GRPO group shares its prompt, completions that
// begin alike share that too, equal ones are one, and worked examples share the text they all start
// with. A row is one token at one place of the trie, and sees the rows on the way to it. Shared
// rows get the sum of the gradients of all that continue them, so loss and gradient are those of
// the sequences one by one.
//
//   std::vector<PackedBatch> batches = Pack(sequences, {.tokens = 2048, .tokens_max = 4096});
//
// A policy that has become sure of itself writes the same beginnings again and again: late in a
// campaign a group of 16 takes an eighth of the rows it would take otherwise.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_BATCH_PACKING_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_BATCH_PACKING_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Tokens from `learn_from` on are learned.
struct LearnedSequence {
  std::vector<int32_t> ids;
  int64_t learn_from = 1;  // In [1, ids.size()): a first token is not predicted by anything.
  int32_t group = 0;       // Sequences of one group are cut apart only where they must be.
};

// A Node is rows [begin, begin + rows) that follow each other, after the last row of node `parent`
// (-1: they are the first). Parents come before their children.
struct Node {
  int64_t begin = 0;
  int64_t rows = 0;
  int32_t parent = -1;
};

// Row `row` of the last hidden state predicts `id`.
struct Target {
  int64_t row = 0;
  int32_t id = 0;
};

// A Path is a sequence's way through the batch: the target of each of its learned tokens.
struct Path {
  int32_t sequence = 0;  // Index in what was packed.
  std::vector<int32_t> targets;
};

// A Use is learned token number `token` of path `path`: one of those that a target stands for.
struct Use {
  int32_t path = 0;
  int32_t token = 0;
};

struct PackedBatch {
  std::vector<int32_t> ids;            // By row.
  std::vector<int32_t> positions;      // By row, in its sequences.
  std::vector<Node> nodes;             // In the order of their rows.
  std::vector<Target> targets;         // No two are alike.
  std::vector<std::vector<Use>> uses;  // By target; each has at least one.
  std::vector<Path> paths;
};

struct PackLimits {
  // It is the most rows of a batch …
  int64_t tokens = 0;
  // … but for a group that would else be cut apart, and what it shares computed twice.
  int64_t tokens_max = 0;
};

// Every sequence is in one batch, whole; one over the limits gets a batch of its own. The result
// depends on the sequences alone, not on their order (but for the numbers in `Path::sequence`).
std::vector<PackedBatch> Pack(const std::vector<LearnedSequence>& sequences,
                              const PackLimits& limits);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_BATCH_PACKING_H_
