// A problem that the worker itself brings along, to measure itself with.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SMALL_KERNEL_H_
#define WHETSTONE_CPU_BENCH_WORKER_SMALL_KERNEL_H_

#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// A product of small matrices with two timed sizes; the reference takes about 0.1 and 0.3 ms, the
// expert several times less.
v1::Problem SmallKernelProblem();

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SMALL_KERNEL_H_
