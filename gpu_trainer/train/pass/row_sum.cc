#include "gpu_trainer/train/pass/row_sum.h"

#include <algorithm>
#include <numeric>

namespace whetstone {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

}  // namespace

RowSumPlan PlanRowSum(const std::vector<int64_t>& rows) {
  // The addends of a row lie side by side, in their own order.
  std::vector<int64_t> addends(rows.size());
  std::iota(addends.begin(), addends.end(), 0);
  std::stable_sort(addends.begin(), addends.end(),
                   [&](int64_t a, int64_t b) { return rows[a] < rows[b]; });
  RowSumPlan plan;
  for (size_t begin = 0, end; begin < addends.size(); begin = end) {
    const int64_t row = rows[addends[begin]];
    for (end = begin; end < addends.size() && rows[addends[end]] == row;) ++end;
    // The second half goes to the first, until one is left.
    size_t round = 0;
    for (size_t left = end - begin; left > 1; ++round) {
      const size_t kept = (left + 1) / 2;
      if (plan.rounds.size() == round) plan.rounds.emplace_back();
      for (size_t i = kept; i < left; ++i) {
        plan.rounds[round].emplace_back(addends[begin + i - kept], addends[begin + i]);
      }
      left = kept;
    }
    plan.sums.emplace_back(row, addends[begin]);
  }
  return plan;
}

RowSum::RowSum(const std::vector<int64_t>& rows, torch::Device device) {
  RowSumPlan plan = PlanRowSum(rows);
  all_differ_ = plan.rounds.empty() && std::is_sorted(rows.begin(), rows.end());
  plan.rounds.push_back(std::move(plan.sums));
  // One transfer takes all of them.
  int64_t total = 0;
  for (const Pairs& pairs : plan.rounds) total += static_cast<int64_t>(pairs.size());
  const torch::Tensor host = torch::empty({2, total}, torch::kLong);
  int64_t* to = host.data_ptr<int64_t>();
  for (const Pairs& pairs : plan.rounds) {
    for (const auto& [first, second] : pairs) {
      to[total] = second;
      *to++ = first;
    }
  }
  const torch::Tensor there = host.to(device);
  int64_t begin = 0;
  for (const Pairs& pairs : plan.rounds) {
    const int64_t n = static_cast<int64_t>(pairs.size());
    steps_.emplace_back(there[0].narrow(0, begin, n), there[1].narrow(0, begin, n));
    begin += n;
  }
}

void RowSum::AddTo(const torch::Tensor& to, const torch::Tensor& from) const {
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    from.index_add_(0, steps_[i].first, from.index_select(0, steps_[i].second));
  }
  const auto& [rows, sums] = steps_.back();
  to.index_add_(0, rows, all_differ_ ? from : from.index_select(0, sums));
}

}  // namespace whetstone
