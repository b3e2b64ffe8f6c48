// Says which slice of a learner's state each rank holds, when the ranks shard it (ZeRO; Rajbhandari
// et al., arXiv 1910.02054).
//
//   const Slice mine = SliceOf(weight.numel(), index, ranks.rank(), ranks.size());
//   moments = torch::zeros({mine.size()});           // of weight.view(-1)[mine.begin, mine.end)
//
// Every tensor that learns, laid out flat, is cut by itself: a slice is a run of one tensor, and
// all ranks' slices together are the tensor. Nothing need be said between ranks to know the plan.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_SHARD_PLAN_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_SHARD_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace whetstone {

// Sharding is train.sharding.
enum class Sharding {
  kNone,        // Every rank holds all.
  kOptimizer,   // A rank holds masters and moments of its own slices only (ZeRO-1) …
  kGradients,   // … and the gradients' sums (ZeRO-2) …
  kParameters,  // … and, during an update, the layers' weights (ZeRO-3).
};
// These are all of them; each shards what those before it do.
inline constexpr std::array<Sharding, 4> kShardings = {Sharding::kNone, Sharding::kOptimizer,
                                                       Sharding::kGradients, Sharding::kParameters};
// Returns "none", "optimizer", "gradients" or "parameters".
const char* NameOf(Sharding sharding);

// Tensors may be cut at multiples of it: whole blocks of the 8-bit optimizer, and whole runs of
// AdamW's loop, so that a slice is stepped to the same bits as the whole tensor.
inline constexpr int64_t kSliceUnit = 1024;

// A Slice is the numbers [begin, end) of a flat tensor; it may be empty.
struct Slice {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Slice&) const = default;
};

// Returns the slice of `rank` of the tensor with that index among those that learn. Begins are
// multiples of kSliceUnit, slices lie in the order of the ranks and differ by one unit at most. A
// tensor of fewer units than ranks goes to one rank as a whole, chosen by its index, so that such
// tensors spread.
Slice SliceOf(int64_t numel, size_t tensor_index, int rank, int ranks);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_SHARD_PLAN_H_
