// The folder of one worker's objects and headers.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORK_FOLDER_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORK_FOLDER_H_

#include "absl/status/statusor.h"
#include "common/file.h"

namespace whetstone {

// Makes this process's folder, and removes those of this user's workers that are dead: workers die
// with their parent, without clean-up.
absl::StatusOr<TempDir> MakeWorkFolder();

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORK_FOLDER_H_
