// A problem that the worker itself brings along, to measure itself with.
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_SMALL_KERNEL_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_SMALL_KERNEL_H_

#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// The three-loop product of n×n matrices, and the same with the two inner loops swapped: several
// times faster.
extern const char kMatmulIjk[];
extern const char kMatmulIkj[];

// Adds the arguments of a function of (const float* a, const float* b, float* c, int n) over n×n
// matrices, a and b uniform in (-1, 1).
void AddMatrices(v1::Problem* problem);

// A product of small matrices with two timed sizes; the reference takes about 0.1 and 0.3 ms, the
// expert several times less.
v1::Problem SmallKernelProblem();

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_SMALL_KERNEL_H_
