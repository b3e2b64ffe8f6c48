// Which library functions a program may not name. A courtesy: the sandbox stops what they would do,
// but a model learns more from "line 4: clock_gettime is not allowed" than from a dead process.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_FORBIDDEN_CALLS_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_FORBIDDEN_CALLS_H_

#include <string>

#include "cpu_bench_worker/screen/findings.h"

namespace whetstone {

// `qualified` is the function's full name: "clock_gettime", "std::chrono::steady_clock::now".
// Returns what it is forbidden for ("reads the clock"), or an empty string.
std::string ForbiddenCall(const std::string& qualified, const ScreenRules& rules);
// The same for a class whose objects are made: "std::thread".
std::string ForbiddenClass(const std::string& qualified, const ScreenRules& rules);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_FORBIDDEN_CALLS_H_
