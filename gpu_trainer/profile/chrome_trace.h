// A step is shown as a picture, what each rank computed and what went on beside it, to be opened in
// chrome://tracing or ui.perfetto.dev.
//
//   { const ProfileCollection collecting(&profile, &trace);  learner.Grpo(…); }
//   out << ChromeTrace({trace_of_rank_0, trace_of_rank_1});
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_CHROME_TRACE_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_CHROME_TRACE_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {

// Returns the picture in the "Trace Event Format" of Chrome: a process for each rank, in it a row
// for the parts and as many more as there were spans beside them at once. Times are in microseconds
// from the first span on, by one clock: all ranks are on one machine.
nlohmann::ordered_json ChromeTrace(const std::vector<StepTrace>& ranks);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_CHROME_TRACE_H_
