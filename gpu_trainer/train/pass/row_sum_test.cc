#include "gpu_trainer/train/pass/row_sum.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace whetstone {
namespace {

// As of a batch of text: a few rows come very often.
std::vector<int64_t> Rows(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::geometric_distribution<int64_t> row(0.02);
  std::vector<int64_t> rows;
  for (size_t i = 0; i < n; ++i) rows.push_back(std::min<int64_t>(row(random), 299));
  return rows;
}

torch::Tensor Sum(const std::vector<int64_t>& rows, const torch::Tensor& from) {
  const torch::Tensor to = torch::ones({300, from.size(1)}, from.options());
  RowSum(rows, torch::kCPU).AddTo(to, from.clone());
  return to;
}

TEST(RowSum, EqualsTheSumInFp64) {
  torch::manual_seed(1);
  for (const size_t n : {0, 1, 2, 3, 64, 2000}) {
    const std::vector<int64_t> rows = Rows(n, 7);
    const torch::Tensor from = torch::randn({static_cast<int64_t>(n), 33});
    const torch::Tensor exact =
        torch::ones({300, 33}, torch::kDouble)
            .index_add_(0, torch::tensor(rows, torch::kLong), from.to(torch::kDouble));
    const double off = (Sum(rows, from).to(torch::kDouble) - exact).abs().max().item<double>();
    EXPECT_LE(off, 2e-5) << n;
  }
}

// What makes the order fixed on a GPU, too: there, one call of index_add_ adds in any order.
TEST(RowSum, NoRoundHasARowTwiceAndEveryAddendCountsOnce) {
  for (const size_t n : {1, 2, 5, 1000}) {
    const std::vector<int64_t> rows = Rows(n, 3);
    const RowSumPlan plan = PlanRowSum(rows);
    std::set<int64_t> used;
    for (const auto& round : plan.rounds) {
      std::set<int64_t> to;
      for (const auto& [first, second] : round) {
        EXPECT_TRUE(to.insert(first).second) << "added to twice in one round";
        EXPECT_EQ(used.count(first), 0u) << "already part of another";
        EXPECT_TRUE(used.insert(second).second) << "counted twice";
        EXPECT_EQ(rows[first], rows[second]);
      }
      for (const auto& [first, second] : round) EXPECT_EQ(to.count(second), 0u);
    }
    std::set<int64_t> summed;
    for (const auto& [row, addend] : plan.sums) {
      EXPECT_TRUE(summed.insert(row).second) << "a row twice in the last step";
      EXPECT_TRUE(used.insert(addend).second);
      EXPECT_EQ(rows[addend], row);
    }
    EXPECT_EQ(used.size(), n);
    EXPECT_EQ(summed, std::set<int64_t>(rows.begin(), rows.end()));
    EXPECT_LE(plan.rounds.size(), 11u) << "more than a tree needs";
  }
}

TEST(RowSum, BitsDoNotDependOnThreads) {
  const int threads = at::get_num_threads();
  torch::manual_seed(2);
  const std::vector<int64_t> rows = Rows(3000, 5);
  const torch::Tensor from = torch::randn({3000, 576});
  at::set_num_threads(1);
  const torch::Tensor one = Sum(rows, from);
  for (const int n : {4, 2, 3, 1}) {
    at::set_num_threads(n);
    EXPECT_TRUE(torch::equal(Sum(rows, from), one)) << n << " threads";
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace whetstone
