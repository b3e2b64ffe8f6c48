// What a worker says of its host and of itself.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORKER_INFO_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORKER_INFO_H_

#include <vector>

#include "cpu_bench_worker/build/tool_chain.h"
#include "cpu_bench_worker/host/slot_pool.h"
#include "sandbox/sandbox.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// All but A/A thresholds, version and time. `tools` has at least one compiler.
v1::WorkerInfo DescribeWorker(const CorePlan& plan, const std::vector<ToolChain>& tools,
                              const Isolation& isolation, const v1::MeasuredOn& host);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORKER_INFO_H_
