// The one way hand-written CPU kernels use several threads: LibTorch's own OpenMP pool, so that
// there are never two pools on the same cores. Free of LibTorch headers, so kernels compile fast.
#ifndef WHETSTONE_GPU_TRAINER_OPS_PARALLEL_H_
#define WHETSTONE_GPU_TRAINER_OPS_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace whetstone {

// Runs `body(task)` for every task in [0, tasks), spread over at::get_num_threads() threads in
// contiguous runs. Which thread runs a task never changes what the task computes. `body` must not
// throw. Nested calls run serially.
void ParallelFor(int64_t tasks, const std::function<void(int64_t task)>& body);

// What ParallelFor uses at most.
int64_t ParallelThreads();

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_OPS_PARALLEL_H_
