// SIMD kernels use several threads by this. It is free of LibTorch headers, so kernels compile
// fast.
//
// OpenMP is not used because its loops end at a barrier that waits for every thread of the pool,
// also for one that the kernel scheduler has put aside and that has nothing to do. A decoding step
// has 150 such loops of 20 to 200 microseconds; beside one busy compiler on two cores that made it
// 20 times slower. Here threads take tasks one by one, and the caller waits only for tasks that
// were taken.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_PARALLEL_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace whetstone {

// Runs `body(task)` for every task in [0, tasks), on this thread and up to at::get_num_threads() -
// 1 helpers. Which thread runs a task must not change what the task computes. `body` must not
// throw. Nested calls, and calls while another thread is in one, run serially.
void ParallelFor(int64_t tasks, const std::function<void(int64_t task)>& body);

// Returns how many threads ParallelFor uses at most.
int64_t ParallelThreads();

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_PARALLEL_H_
