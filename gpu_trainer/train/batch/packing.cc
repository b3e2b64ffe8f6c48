#include "gpu_trainer/train/batch/packing.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "common/status_macros.h"

namespace whetstone {
namespace {

// A sequence's last token is learned but never read.
int64_t Rows(const LearnedSequence& sequence) {
  return static_cast<int64_t>(sequence.ids.size()) - 1;
}

// Returns how many rows both read first.
int64_t SharedRows(const LearnedSequence& a, const LearnedSequence& b) {
  const int64_t most = std::min(Rows(a), Rows(b));
  return std::mismatch(a.ids.begin(), a.ids.begin() + most, b.ids.begin()).first - a.ids.begin();
}

// Builds one batch from sequences in lexicographic order: each shares most with the one before it.
class Builder {
 public:
  bool empty() const { return last_ == nullptr; }
  int64_t rows() const { return static_cast<int64_t>(batch_.ids.size()); }
  int64_t NewRows(const LearnedSequence& sequence) const {
    return Rows(sequence) - (empty() ? 0 : SharedRows(*last_, sequence));
  }

  void Add(const LearnedSequence& sequence, int32_t index) {
    CHECK(sequence.learn_from >= 1 && sequence.learn_from <= Rows(sequence));
    way_.resize(static_cast<size_t>(Rows(sequence) - NewRows(sequence)));
    for (int64_t i = static_cast<int64_t>(way_.size()); i < Rows(sequence); ++i) {
      parents_.push_back(way_.empty() ? -1 : way_.back());
      way_.push_back(rows());
      batch_.ids.push_back(sequence.ids[i]);
      batch_.positions.push_back(static_cast<int32_t>(i));
    }
    Path path{.sequence = index, .targets = {}};
    for (int64_t i = sequence.learn_from; i <= Rows(sequence); ++i) {
      const int32_t target = TargetOf(way_[i - 1], sequence.ids[i]);
      batch_.uses[target].push_back({.path = static_cast<int32_t>(batch_.paths.size()),
                                     .token = static_cast<int32_t>(path.targets.size())});
      path.targets.push_back(target);
    }
    batch_.paths.push_back(std::move(path));
    last_ = &sequence;
  }

  PackedBatch Finish() {
    std::vector<int32_t> children(parents_.size(), 0), node_of(parents_.size(), -1);
    for (const int64_t parent : parents_) {
      if (parent >= 0) ++children[parent];
    }
    for (int64_t row = 0; row < rows(); ++row) {
      const int64_t parent = parents_[row];
      if (parent < 0 || parent != row - 1 || children[parent] > 1) {
        batch_.nodes.push_back(
            {.begin = row, .rows = 0, .parent = parent < 0 ? -1 : node_of[parent]});
      }
      ++batch_.nodes.back().rows;
      node_of[row] = static_cast<int32_t>(batch_.nodes.size()) - 1;
    }
    return std::move(batch_);
  }

 private:
  int32_t TargetOf(int64_t row, int32_t id) {
    const auto [it, is_new] = targets_.try_emplace((row << 32) | static_cast<uint32_t>(id),
                                                   static_cast<int32_t>(batch_.targets.size()));
    if (is_new) {
      batch_.targets.push_back({.row = row, .id = id});
      batch_.uses.emplace_back();
    }
    return it->second;
  }

  PackedBatch batch_;
  const LearnedSequence* last_ = nullptr;
  std::vector<int64_t> way_;                      // The rows of *last_.
  std::vector<int64_t> parents_;                  // The row before each row; -1: none.
  std::unordered_map<int64_t, int32_t> targets_;  // By row and id.
};

}  // namespace

std::vector<PackedBatch> Pack(const std::vector<LearnedSequence>& sequences,
                              const PackLimits& limits) {
  std::vector<size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sequences[a].ids < sequences[b].ids; });

  std::vector<PackedBatch> batches;
  Builder builder;
  const auto flush = [&] {
    if (builder.empty()) return;
    batches.push_back(builder.Finish());
    builder = Builder();
  };
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    const int32_t group = sequences[order[first]].group;
    int64_t group_rows = Rows(sequences[order[first]]);
    for (end = first + 1; end < order.size() && sequences[order[end]].group == group; ++end) {
      const LearnedSequence& sequence = sequences[order[end]];
      group_rows += Rows(sequence) - SharedRows(sequences[order[end - 1]], sequence);
    }
    if (builder.rows() + group_rows > limits.tokens) flush();
    const int64_t limit =
        group_rows <= limits.tokens_max ? std::max(limits.tokens, group_rows) : limits.tokens;
    for (size_t i = first; i < end; ++i) {
      const LearnedSequence& sequence = sequences[order[i]];
      if (builder.rows() + builder.NewRows(sequence) > limit) flush();
      builder.Add(sequence, static_cast<int32_t>(order[i]));
    }
  }
  flush();
  return batches;
}

}  // namespace whetstone
