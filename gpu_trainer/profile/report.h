// Reports a step's profile beside what the machine can do.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_REPORT_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_REPORT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu_trainer/profile/machine.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {

// ProfiledStep says what was profiled, as far as advice depends on it.
struct ProfiledStep {
  StepProfile profile;
  std::string dtype;           // "bf16", "fp16" or "fp32"
  int64_t sequences = 0;       // decoded together
  bool adapters_only = false;  // LoRA
  bool on_gpu = false;
  bool truncates = false;      // top_p, top_k or min_p leaves tokens out
  int64_t peak_bytes = 0;      // of the process, or of its tensors on the GPU
  int64_t headroom_bytes = 0;  // what is free beside it, there
};

// Returns the time a part would take if nothing but its floating-point operations or its bytes
// bounded it, as a share of the time it took; 0: neither was counted.
double RooflineShare(const PartUse& use, const MachineSpeed& machine, const std::string& dtype);

// Says in one sentence the longest part, whether compute, memory bandwidth or overhead (less than
// 40 % of its time is explained by its work) bounds it, and a setting that would move it and that
// this step can still take.
std::string Bottleneck(const ProfiledStep& step, const MachineSpeed& machine);

nlohmann::ordered_json MachineJson(const MachineSpeed& machine);
// Returns {"machine", "step_s", "mfu", "parts": [{"part", "s", "share", "calls", "gflop",
// "gflop_per_s", "gbyte_per_s", "roofline_share"}], "peak_gib", "headroom_gib", "bottleneck"}.
nlohmann::ordered_json ReportJson(const ProfiledStep& step, const MachineSpeed& machine);
// Returns the same for a campaign's metrics, times in seconds: "profile/PART_s", and where its work
// was counted "profile/PART_gflop" and "profile/PART_roofline", with PART as decode_matmul;
// "profile/computed_s" (all parts), "profile/mfu", "profile/peak_gib", "profile/headroom_gib".
std::map<std::string, double> ReportMetrics(const ProfiledStep& step, const MachineSpeed& machine);
// Returns the same as a table for people.
std::string ReportText(const ProfiledStep& step, const MachineSpeed& machine);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_REPORT_H_
