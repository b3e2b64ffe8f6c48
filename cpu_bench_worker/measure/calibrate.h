// What a problem must show before candidates are measured under it: its reference agrees with
// itself, and its expert, if there is one, is faster.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_CALIBRATE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_CALIBRATE_H_

#include "absl/status/statusor.h"
#include "cpu_bench_worker/host/slot_pool.h"
#include "cpu_bench_worker/measure/pipeline.h"
#include "cpu_bench_worker/measure/prepared_problem.h"
#include "cpu_bench_worker/screen/screen_client.h"

namespace whetstone {

// Measures the A/A threshold (the reference against itself) and the expert, on slots that it leases
// itself. Fills problem->calibration and returns it; where the expert was measured is left to the
// caller. `screen` may be null (tests). INVALID_ARGUMENT: the problem is unsound; the message says
// what to change. UNAVAILABLE: a fault of ours.
absl::StatusOr<v1::Calibration> Calibrate(Pipeline* pipeline, SlotPool* slots, ScreenClient* screen,
                                          PreparedProblem* problem);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_CALIBRATE_H_
