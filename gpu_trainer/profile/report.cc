#include "gpu_trainer/profile/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

using nlohmann::ordered_json;

constexpr double kGib = static_cast<double>(1 << 30);

double Rounded(double x) { return std::isfinite(x) ? std::round(x * 1e4) / 1e4 : 0; }

bool IsGeneration(Part part) {
  return part == Part::kPrefill || part == Part::kDecodeMatmul || part == Part::kDecodeAttention ||
         part == Part::kSampling;
}

// Why a part takes its time, and what would change that.
std::string Advice(Part part, double roofline, const ProfiledStep& step) {
  switch (part) {
    case Part::kDecodeMatmul:
      return absl::StrFormat(
          "memory bandwidth: every decoding step reads all weights for %d sequences; a larger "
          "train.group_size or train.prompts_per_step spreads that",
          step.sequences);
    case Part::kDecodeAttention:
      return "memory bandwidth of the keys and values read while decoding; a shorter "
             "generate.max_new_tokens or shorter prompts reduce them";
    case Part::kPrefill:
      return "compute in the encoding of prompts; shorter prompts, or more rollouts of each "
             "(train.group_size), make it count less";
    case Part::kSampling:
      return "overhead in the choice of tokens; generate.top_p: 1 and generate.top_k: 0 need no "
             "sorting";
    case Part::kRecompute:
      return "compute, in layers computed a second time to save memory; "
             "train.activation_checkpointing: none needs more memory and saves that";
    case Part::kOptimizer:
      return "memory bandwidth of the optimizer's state; train.optimizer_state: 8bit makes it "
             "smaller, and more rollouts a step make it count less";
    case Part::kWeightGradient:
      if (!step.adapters_only && roofline >= 0.4) {
        return "compute, in the gradients of all weights; train.lora.rank above 0 learns adapters "
               "alone and saves most of that";
      }
      break;
    case Part::kElementwise:
      return "memory bandwidth between the matrix products; a smaller train.token_budget keeps "
             "more of it in the caches";
    case Part::kOther:
      return "overhead outside the known parts; more rollouts a step (train.group_size) make it "
             "count less";
    default:
      break;
  }
  if (roofline >= 0.4) {
    return "compute; fewer or shorter rollouts (train.group_size, generate.max_new_tokens) or more "
           "cores (local.threads) change that";
  }
  return "overhead: the machine computes much faster than this; a larger train.token_budget makes "
         "the pieces larger";
}

}  // namespace

double RooflineShare(const PartUse& use, const MachineSpeed& machine, const std::string& dtype) {
  if (use.seconds <= 0) return 0;
  const double gflops = machine.BestGflops(dtype);
  const double compute_s = gflops > 0 ? 1e-9 * use.flops / gflops : 0;
  const double memory_s = machine.read_gb_s > 0 ? 1e-9 * use.bytes / machine.read_gb_s : 0;
  return std::max(compute_s, memory_s) / use.seconds;
}

std::string Bottleneck(const ProfiledStep& step, const MachineSpeed& machine) {
  double generation_s = 0;
  Part longest = Part::kOther;
  for (int i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const PartUse& use = step.profile.of(part);
    if (IsGeneration(part)) generation_s += use.seconds;
    if (use.seconds > step.profile.of(longest).seconds) longest = part;
  }
  const double total = step.profile.seconds();
  if (total <= 0) return "Nothing was measured.";
  const PartUse& use = step.profile.of(longest);
  const double roofline = RooflineShare(use, machine, step.dtype);
  return absl::StrFormat(
      "The longest part is %s (%.0f %% of the step; generation has %.0f %%), bound by %s.",
      NameOf(longest), 100 * use.seconds / total, 100 * generation_s / total,
      Advice(longest, roofline, step));
}

ordered_json MachineJson(const MachineSpeed& machine) {
  ordered_json matmul = ordered_json::array();
  for (const MatmulSpeed& speed : machine.matmul) {
    matmul.push_back(
        {{"dtype", speed.dtype}, {"size", speed.size}, {"gflop_per_s", Rounded(speed.gflops)}});
  }
  return {{"device", machine.device},
          {"threads", machine.threads},
          {"matmul", matmul},
          {"read_gb_per_s", Rounded(machine.read_gb_s)},
          {"operator_overhead_us", Rounded(machine.operator_overhead_us)}};
}

ordered_json ReportJson(const ProfiledStep& step, const MachineSpeed& machine) {
  const double total = step.profile.seconds(), best = machine.BestGflops(step.dtype);
  ordered_json parts = ordered_json::array();
  for (int i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const PartUse& use = step.profile.of(part);
    if (use.calls == 0 && part != Part::kOther) continue;
    parts.push_back({{"part", NameOf(part)},
                     {"s", Rounded(use.seconds)},
                     {"share", Rounded(use.seconds / total)},
                     {"calls", use.calls},
                     {"gflop", Rounded(1e-9 * use.flops)},
                     {"gflop_per_s", Rounded(1e-9 * use.flops / use.seconds)},
                     {"roofline_share", Rounded(RooflineShare(use, machine, step.dtype))}});
  }
  return {{"machine", MachineJson(machine)},
          {"step_s", Rounded(total)},
          {"mfu", Rounded(1e-9 * step.profile.flops() / total / best)},
          {"parts", parts},
          {"peak_gib", Rounded(static_cast<double>(step.peak_bytes) / kGib)},
          {"headroom_gib", Rounded(static_cast<double>(step.headroom_bytes) / kGib)},
          {"bottleneck", Bottleneck(step, machine)}};
}

std::string ReportText(const ProfiledStep& step, const MachineSpeed& machine) {
  const ordered_json report = ReportJson(step, machine);
  std::string text = absl::StrFormat("%-20s %9s %7s %10s %10s %9s\n", "part", "s", "share", "GFLOP",
                                     "GFLOP/s", "roofline");
  for (const auto& part : report["parts"]) {
    absl::StrAppendFormat(
        &text, "%-20s %9.3f %6.1f%% %10.1f %10.1f %8.0f%%\n", part["part"].get<std::string>(),
        part["s"].get<double>(), 100 * part["share"].get<double>(), part["gflop"].get<double>(),
        part["gflop_per_s"].get<double>(), 100 * part["roofline_share"].get<double>());
  }
  absl::StrAppendFormat(&text,
                        "step %.2f s, MFU %.1f %% of %.0f GFLOP/s (%s), peak memory %.2f GiB, "
                        "headroom %.2f GiB\n%s\n",
                        report["step_s"].get<double>(), 100 * report["mfu"].get<double>(),
                        machine.BestGflops(step.dtype), step.dtype,
                        report["peak_gib"].get<double>(), report["headroom_gib"].get<double>(),
                        report["bottleneck"].get<std::string>());
  return text;
}

}  // namespace whetstone
