#include "gpu_trainer/profile/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace whetstone {
namespace {

using nlohmann::ordered_json;

constexpr double kGib = static_cast<double>(1 << 30);

double Rounded(double x) { return std::isfinite(x) ? std::round(x * 1e4) / 1e4 : 0; }

bool IsGeneration(Part part) {
  return part == Part::kPrefill || part == Part::kDecodeStep || part == Part::kDecodeMatmul ||
         part == Part::kDecodeElementwise || part == Part::kDecodeAttention ||
         part == Part::kSampling;
}

// A part whose work would take less than this share of its time does something else for the most.
constexpr double kBoundShare = 0.4;
enum class Bound { kCompute, kMemory, kOverhead, kCommunication };

// LeastTime is the time of a part if nothing but its operations, or nothing but its bytes, took
// time.
struct LeastTime {
  double compute_s = 0, memory_s = 0;
};
LeastTime LeastTimeOf(const PartUse& use, const MachineSpeed& machine, const std::string& dtype) {
  const double gflops = machine.BestGflops(dtype);
  return {gflops > 0 ? 1e-9 * use.flops / gflops : 0,
          machine.read_gb_s > 0 ? 1e-9 * use.bytes / machine.read_gb_s : 0};
}

Bound BoundOf(Part part, const PartUse& use, const MachineSpeed& machine,
              const std::string& dtype) {
  if (part == Part::kRecompute) return Bound::kCompute;  // Its work counts as none.
  if (part == Part::kCommunication || part == Part::kWaiting) return Bound::kCommunication;
  const LeastTime least = LeastTimeOf(use, machine, dtype);
  if (std::max(least.compute_s, least.memory_s) < kBoundShare * use.seconds) {
    return Bound::kOverhead;
  }
  return least.compute_s >= least.memory_s ? Bound::kCompute : Bound::kMemory;
}

const char* WordsOf(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory bandwidth";
    case Bound::kOverhead:
      return "overhead";
    case Bound::kCommunication:
      return "communication";
  }
  return "?";
}

// Returns the setting that would move it.
std::string Advice(Part part, Bound bound, const ProfiledStep& step) {
  switch (part) {
    case Part::kInput:
      return "shorter prompts, or more rollouts of each (train.group_size), leave less to render "
             "and "
             "tokenize";
    case Part::kPrefill:
      return "shorter prompts, or more rollouts of each (train.group_size), make the encoding of "
             "prompts count less";
    case Part::kDecodeStep:
    case Part::kDecodeMatmul:
      if (bound == Bound::kCompute) break;
      return absl::StrFormat(
          "every decoding step reads all weights for %d sequences; a larger train.group_size or "
          "train.prompts_per_step spreads that",
          step.sequences);
    case Part::kDecodeElementwise:
      return "a larger train.group_size or train.prompts_per_step spreads what every decoding step "
             "costs";
    case Part::kDecodeAttention:
      return "a smaller generate.max_new_tokens or shorter prompts leave fewer keys and values to "
             "read";
    case Part::kSampling:
      if (!step.truncates) break;
      return "generate.top_p: 1, generate.top_k: 0 and generate.min_p: 0 need no sorting";
    case Part::kRecompute:
      return "layers are computed a second time to save memory; train.activation_checkpointing: "
             "none needs more memory and saves that";
    case Part::kOptimizer:
      return absl::StrCat(
          "every weight that learns is read and written once a step, however many rollouts it "
          "has; more of them (train.group_size)",
          step.adapters_only ? "" : ", or adapters alone (train.lora.rank),",
          " make that count less");
    case Part::kCommunication:
      return absl::StrCat(
          "gradients are summed over the ranks once a step; more rollouts a step "
          "(train.group_size)",
          step.adapters_only ? "" : ", adapters alone (train.lora.rank)",
          " or fewer ranks make that count less");
    case Part::kWaiting:
      return "the ranks' shares of the step are not equally long; a smaller train.token_budget "
             "makes the pieces that are shared out smaller";
    case Part::kWeightGradient:
      if (bound == Bound::kCompute && !step.adapters_only) {
        return "train.lora.rank above 0 learns adapters alone and saves most of these gradients";
      }
      break;
    case Part::kElementwise:
      if (step.on_gpu) break;  // Its caches hold none of it.
      return "a smaller train.token_budget keeps more of what lies between the matrix products in "
             "the caches";
    case Part::kOther:
      return "more rollouts a step (train.group_size) make what is outside the known parts count "
             "less";
    default:
      break;
  }
  if (bound == Bound::kOverhead && !IsGeneration(part)) {
    return "a larger train.token_budget makes the pieces larger";
  }
  return absl::StrCat("fewer or shorter rollouts (train.group_size, generate.max_new_tokens)",
                      step.on_gpu ? "" : " or more cores (local.threads)", " change that");
}

// Bytes that went to other ranks are not this machine's memory.
bool IsCounted(Part part, const PartUse& use) {
  return part != Part::kCommunication && (use.flops > 0 || use.bytes > 0);
}

// Returns such as "decode_attention".
std::string KeyOf(Part part) { return absl::StrReplaceAll(NameOf(part), {{" ", "_"}}); }

double Mfu(const ProfiledStep& step, const MachineSpeed& machine) {
  const double most = machine.BestGflops(step.dtype) * step.profile.seconds();
  return most > 0 ? 1e-9 * step.profile.flops() / most : 0;
}

}  // namespace

double RooflineShare(const PartUse& use, const MachineSpeed& machine, const std::string& dtype) {
  if (use.seconds <= 0) return 0;
  const LeastTime least = LeastTimeOf(use, machine, dtype);
  return std::max(least.compute_s, least.memory_s) / use.seconds;
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
  const Bound bound = BoundOf(longest, use, machine, step.dtype);
  return absl::StrFormat(
      "The longest part is %s (%.0f %% of the time computed; generation has %.0f %%), bound by %s: "
      "%s.",
      NameOf(longest), 100 * use.seconds / total, 100 * generation_s / total, WordsOf(bound),
      Advice(longest, bound, step));
}

std::map<std::string, double> ReportMetrics(const ProfiledStep& step, const MachineSpeed& machine) {
  std::map<std::string, double> metrics = {
      {"profile/computed_s", step.profile.seconds()},
      {"profile/mfu", Mfu(step, machine)},
      {"profile/peak_gib", static_cast<double>(step.peak_bytes) / kGib},
      {"profile/headroom_gib", static_cast<double>(step.headroom_bytes) / kGib}};
  for (int i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const PartUse& use = step.profile.of(part);
    if (use.seconds <= 0) continue;
    const std::string key = absl::StrCat("profile/", KeyOf(part));
    metrics[key + "_s"] = use.seconds;
    if (!IsCounted(part, use)) continue;
    metrics[key + "_gflop"] = 1e-9 * use.flops;
    metrics[key + "_roofline"] = RooflineShare(use, machine, step.dtype);
  }
  return metrics;
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
  const double total = step.profile.seconds();
  ordered_json parts = ordered_json::array();
  for (int i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const PartUse& use = step.profile.of(part);
    if (use.seconds <= 0) continue;
    parts.push_back(
        {{"part", NameOf(part)},
         {"s", Rounded(use.seconds)},
         {"share", Rounded(use.seconds / total)},
         {"calls", use.calls},
         {"gflop", Rounded(1e-9 * use.flops)},
         {"gflop_per_s", Rounded(1e-9 * use.flops / use.seconds)},
         {"gbyte_per_s", Rounded(1e-9 * use.bytes / use.seconds)},
         {"roofline_share",
          IsCounted(part, use) ? Rounded(RooflineShare(use, machine, step.dtype)) : 0}});
  }
  return {{"machine", MachineJson(machine)},
          {"step_s", Rounded(total)},
          {"mfu", Rounded(Mfu(step, machine))},
          {"parts", parts},
          {"peak_gib", Rounded(static_cast<double>(step.peak_bytes) / kGib)},
          {"headroom_gib", Rounded(static_cast<double>(step.headroom_bytes) / kGib)},
          {"bottleneck", Bottleneck(step, machine)}};
}

std::string ReportText(const ProfiledStep& step, const MachineSpeed& machine) {
  const ordered_json report = ReportJson(step, machine);
  std::string text = absl::StrFormat("%-20s %9s %7s %10s %10s %8s %9s\n", "part", "s", "share",
                                     "GFLOP", "GFLOP/s", "GB/s", "roofline");
  for (const auto& part : report["parts"]) {
    const auto number = [&](const char* key) { return part[key].get<double>(); };
    // What is not counted, or is none, is left empty: 0 % would say that it wastes all its time.
    const auto counted = [&](const char* key) {
      return number(key) > 0 ? absl::StrFormat("%.1f", number(key)) : std::string();
    };
    const double roofline = number("roofline_share");
    absl::StrAppendFormat(&text, "%-20s %9.3f %6.1f%% %10s %10s %8s %9s\n",
                          part["part"].get<std::string>(), number("s"), 100 * number("share"),
                          counted("gflop"), counted("gflop_per_s"), counted("gbyte_per_s"),
                          roofline > 0 ? absl::StrFormat("%.0f%%", 100 * roofline) : "");
  }
  absl::StrAppendFormat(&text,
                        "step %.2f s, MFU %.1f %% of %.0f GFLOP/s (%s), peak %s %.2f GiB, "
                        "headroom %.2f GiB\n%s\n",
                        report["step_s"].get<double>(), 100 * report["mfu"].get<double>(),
                        machine.BestGflops(step.dtype), step.dtype,
                        step.on_gpu ? "GPU memory" : "memory", report["peak_gib"].get<double>(),
                        report["headroom_gib"].get<double>(),
                        report["bottleneck"].get<std::string>());
  return text;
}

}  // namespace whetstone
