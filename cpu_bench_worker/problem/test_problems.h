// Problems written by hand, for tests.
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_TEST_PROBLEMS_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_TEST_PROBLEMS_H_

#include <string>

#include "cpu_bench_worker/problem/small_kernel.h"  // kMatmulIjk, kMatmulIkj
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// c = a * b for n×n floats; check 1, 2, 3, 17; timed 64 and 96; hidden 65. The expert swaps loops.
v1::Problem MatmulProblem();

// out[j][i] = in[i][j] for r×c ints; exact; one timed size. The expert goes in 16×16 blocks.
v1::Problem TransposeProblem();

// Moves the values below `pivot` of an array to the front, in any order, and returns how many there
// are. In-out, a scalar, a returned value, a generator and a checker.
v1::Problem PartitionProblem();

// Moves bodies by a step, kept within bounds, and returns what moved. Structs with padding: an
// input array that a generator writes, an output array, one by pointer, one by value, one returned.
v1::Problem DriftProblem();

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_TEST_PROBLEMS_H_
