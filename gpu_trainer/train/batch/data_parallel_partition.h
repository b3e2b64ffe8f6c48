// Partitions the micro-batches of a step over the ranks (data parallelism).
//
//   const std::vector<PackedBatch> mine = PackForRank(sequences, limits, config, rank, ranks);
//
// Every rank packs all sequences in the same way and takes its own, so nothing need be said
// between them. Where ranks would differ much in cost, the batches are made smaller, as long as
// that pays: what is cut apart computes again what it shared.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_BATCH_DATA_PARALLEL_PARTITION_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_BATCH_DATA_PARALLEL_PARTITION_H_

#include <vector>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/train/batch/packing.h"

namespace whetstone {

// Returns the floating-point operations of a batch's forward and backward pass, and what starting
// it costs.
double CostOf(const PackedBatch& batch, const ModelConfig& config);

// Returns the micro-batches of `rank`. All ranks together have every sequence once, as in Pack, and
// no batch over the limits unless Pack makes it so. Some ranks get nothing where there are fewer
// sequences than ranks. With one rank it is Pack(sequences, limits).
std::vector<PackedBatch> PackForRank(const std::vector<LearnedSequence>& sequences,
                                     const PackLimits& limits, const ModelConfig& config, int rank,
                                     int ranks);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_BATCH_DATA_PARALLEL_PARTITION_H_
