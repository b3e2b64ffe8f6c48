// RowSum adds rows in an order that depends on the rows alone.
//
//   const RowSum sum(ids, device);            // once a batch: row i goes to row ids[i]
//   sum.AddTo(gradient, dx);                  // gradient[ids[i]] += dx[i] for all i
//
// index_add_ with an index that comes twice adds in whatever order a GPU's threads come: the last
// bits differ from run to run. Here what goes to one row is first added in pairs, as a tree, round
// by round, each of which has every row once at most; so bits depend neither on threads nor on the
// device's mood, and errors grow with the logarithm of the count.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PASS_ROW_SUM_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PASS_ROW_SUM_H_

#include <torch/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace whetstone {

// A round's pairs (to, from) of addends leave the sum of each row in its first addend; `sums` then
// has these (row, addend), rows ascending. No list has two pairs of the same `to` or `row`.
struct RowSumPlan {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> rounds;
  std::vector<std::pair<int64_t, int64_t>> sums;
};
RowSumPlan PlanRowSum(const std::vector<int64_t>& rows);

class RowSum {
 public:
  RowSum() = default;
  RowSum(const std::vector<int64_t>& rows, torch::Device device);

  // Adds `from` [rows.size(), C], which is overwritten, to `to` [any, C] of the same type.
  void AddTo(const torch::Tensor& to, const torch::Tensor& from) const;

 private:
  // Each round's index tensors are on the device, i64; the last pair is that of the sums.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> steps_;
  bool all_differ_ = false;  // The rows ascend.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PASS_ROW_SUM_H_
