#include "gpu_trainer/train/batch/data_parallel_partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace whetstone {
namespace {

// A batch takes as much longer than its rows say as so many rows would: weights are read once for
// all, and small matrix products are slow.
constexpr double kRowsOfStarting = 32;

// These sizes of a batch are tried, as multiples of a rank's even share of the rows. Above 1 they
// allow for what is shared and computed by several ranks.
constexpr double kSharesTried[] = {1, 1.15, 1.3, 1.5, 0.75, 0.5, 0.3};
// A partition whose longest rank costs at most this much of the even share is not worth more
// trying.
constexpr double kGoodEnough = 1.02;

// Returns how many learned numbers every row meets: those of the layers.
double LayerParameters(const ModelConfig& config) {
  const int64_t of_layer = config.hidden * (config.qkv_rows() + config.heads * config.head_dim +
                                            3 * config.intermediate);
  return static_cast<double>(config.layers * of_layer);
}

struct Partition {
  std::vector<std::vector<size_t>> batches;  // By rank.
  double longest = 0;                        // The cost of the rank that has most.
};

// Gives each batch, the dearest first, to the rank that has least so far (Graham 1969: at most a
// third more than the best).
Partition PartitionByCost(const std::vector<double>& costs, int ranks) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  Partition partition{.batches = std::vector<std::vector<size_t>>(static_cast<size_t>(ranks))};
  std::vector<double> loads(static_cast<size_t>(ranks), 0);
  for (const size_t i : order) {
    const size_t rank =
        static_cast<size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    partition.batches[rank].push_back(i);
    loads[rank] += costs[i];
  }
  partition.longest = *std::max_element(loads.begin(), loads.end());
  return partition;
}

}  // namespace

double CostOf(const PackedBatch& batch, const ModelConfig& config) {
  const double rows = static_cast<double>(batch.ids.size()) + kRowsOfStarting;
  double seen = 0;  // It counts pairs of a row and one that it attends to.
  for (const int32_t position : batch.positions) seen += position + 1;
  const double head =
      static_cast<double>(batch.targets.size()) * static_cast<double>(config.vocab * config.hidden);
  const double attention =
      2 * seen * static_cast<double>(config.layers * config.heads * config.head_dim);
  return 6 * (rows * LayerParameters(config) + attention + head);
}

std::vector<PackedBatch> PackForRank(const std::vector<LearnedSequence>& sequences,
                                     const PackLimits& limits, const ModelConfig& config, int rank,
                                     int ranks) {
  std::vector<PackedBatch> batches = Pack(sequences, limits);
  if (ranks == 1) return batches;
  std::vector<PackedBatch> best;
  Partition best_partition{.batches = {}, .longest = std::numeric_limits<double>::infinity()};
  const auto consider = [&] {
    std::vector<double> costs;
    for (const PackedBatch& batch : batches) costs.push_back(CostOf(batch, config));
    Partition partition = PartitionByCost(costs, ranks);
    if (partition.longest < best_partition.longest) {
      best_partition = std::move(partition);
      best = std::move(batches);
    }
    return std::accumulate(costs.begin(), costs.end(), 0.0) / ranks;
  };
  double rows = 0;
  for (const PackedBatch& batch : batches) rows += static_cast<double>(batch.ids.size());
  const double even = consider();
  for (const double share : kSharesTried) {
    if (best_partition.longest < kGoodEnough * even) break;
    const int64_t tokens = std::min(limits.tokens, 1 + static_cast<int64_t>(share * rows / ranks));
    batches = Pack(sequences, {.tokens = tokens, .tokens_max = tokens});
    consider();
  }
  std::vector<PackedBatch> mine;
  for (const size_t i : best_partition.batches[static_cast<size_t>(rank)]) {
    mine.push_back(std::move(best[i]));
  }
  return mine;
}

}  // namespace whetstone
