#include "gpu_trainer/ops/parallel.h"

#include <omp.h>

#include <algorithm>

namespace whetstone {

int64_t ParallelThreads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void ParallelFor(int64_t tasks, const std::function<void(int64_t task)>& body) {
  const int64_t threads = std::min(tasks, ParallelThreads());
  if (threads <= 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  // The whole pool starts and spare threads do nothing: asking GOMP for another number of threads
  // makes it rebuild its pool.
#pragma omp parallel
  {
    const int64_t n = omp_get_num_threads(), me = omp_get_thread_num();
    for (int64_t task = tasks * me / n, end = tasks * (me + 1) / n; task < end; ++task) body(task);
  }
}

}  // namespace whetstone
