#include "cpu_bench_worker/measure/host_peak.h"

#include <gtest/gtest.h>

#include "common/file.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/build/isa.h"
#include "cpu_bench_worker/host/slot_pool.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

TEST(HostPeakTest, NoHonestProgramBeatsIt) {
  auto dir = TempDir::Make("peak");
  ASSERT_TRUE(dir.ok());
  auto compiler = Compiler::Create(dir->path(), {});
  ASSERT_TRUE(compiler.ok()) << compiler.status();
  auto peak = HostPeak::Create(compiler->get(), BinDir() + "/whet-kernel", dir->path());
  ASSERT_TRUE(peak.ok()) << peak.status();
  const SlotCores cores = PlanCores(*GroupByNumaNode(AllowedCores()), 1)->slots[0];
  const auto flops = (*peak)->FlopsPerNs(cores);
  ASSERT_TRUE(flops.ok()) << flops.status();
  RecordProperty("flops_per_ns", std::to_string(*flops));
  EXPECT_GT(*flops, 4) << "less than any processor of the last ten years";
  EXPECT_LT(*flops, 2000);
  const auto cached = (*peak)->BytesPerNs(cores, 16 << 10);
  const auto memory = (*peak)->BytesPerNs(cores, 64 << 20);
  ASSERT_TRUE(cached.ok() && memory.ok());
  RecordProperty("cached_bytes_per_ns", std::to_string(*cached));
  RecordProperty("memory_bytes_per_ns", std::to_string(*memory));
  EXPECT_GT(*memory, 0.5);
  EXPECT_GT(*cached, *memory) << "caches are faster than memory";

  // The problem has 2 n^3 operations; its bytes could decide on a host with tile units.
  BenchProblem problem;
  problem.problem = MatmulProblem();
  problem.problem.mutable_cost()->clear_bytes();
  problem.arguments = *Arguments::Parse(problem.problem);
  const CallShape shape = *problem.arguments.At(problem.problem.sizes().timed(1));
  const auto floor = (*peak)->PhysicalFloorNs(problem, shape, cores);
  ASSERT_TRUE(floor.ok()) << floor.status();
  const double peak_flops = *flops * OperationsPerF32({v1::F32}, IsaExtensions());
  EXPECT_NEAR(*floor, 2.0 * 96 * 96 * 96 / peak_flops, 1e-6);
  problem.problem.clear_cost();
  EXPECT_EQ(*(*peak)->PhysicalFloorNs(problem, shape, cores), 0) << "no cost, no floor";
}

TEST(OperationsPerF32Test, NarrowNumbersAndTilesCountForMore) {
  const std::vector<std::string> plain = {"avx512f", "avx512_vnni", "avx512_bf16"};
  EXPECT_EQ(OperationsPerF32({}, plain), 1);
  EXPECT_EQ(OperationsPerF32({v1::F32, v1::F64}, plain), 1);
  EXPECT_EQ(OperationsPerF32({v1::F32, v1::BF16}, plain), 2);
  EXPECT_EQ(OperationsPerF32({v1::I32, v1::U8}, plain), 4);
  const std::vector<std::string> tiles = {"avx512f", "amx_tile", "amx_bf16", "amx_int8"};
  EXPECT_EQ(OperationsPerF32({v1::F64}, tiles), 1);
  EXPECT_DOUBLE_EQ(OperationsPerF32({v1::F32}, tiles), 16.0 / 3);
  EXPECT_EQ(OperationsPerF32({v1::BF16}, tiles), 16);
  EXPECT_EQ(OperationsPerF32({v1::I8}, tiles), 32);
}

}  // namespace
}  // namespace whetstone
