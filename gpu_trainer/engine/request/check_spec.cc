#include "gpu_trainer/engine/request/check_spec.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

absl::Status CheckId(int32_t id, const ModelConfig& config) {
  if (id >= 0 && id < config.vocab) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("token id ", id, " is not in the vocabulary of ", config.vocab));
}

absl::Status Refuse(bool fine, absl::string_view name, double value, absl::string_view needed) {
  if (fine) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; ", needed));
}

absl::Status CheckSampling(const SamplingSpec& s, const ModelConfig& config) {
  const PenaltySettings& p = s.penalties;
  RETURN_IF_ERROR(
      Refuse(s.max_new_tokens >= 1, "max_new_tokens", s.max_new_tokens, "at least 1 is needed"));
  RETURN_IF_ERROR(Refuse(s.temperature >= 0 && std::isfinite(s.temperature), "temperature",
                         s.temperature, "0 (greedy) or more is needed"));
  RETURN_IF_ERROR(
      Refuse(s.top_p > 0 && s.top_p <= 1, "top_p", s.top_p, "more than 0 and at most 1 is needed"));
  RETURN_IF_ERROR(Refuse(s.top_k >= 0, "top_k", s.top_k, "0 means off"));
  RETURN_IF_ERROR(
      Refuse(s.min_p >= 0 && s.min_p <= 1, "min_p", s.min_p, "0 (off) to 1 is possible"));
  RETURN_IF_ERROR(Refuse(p.repetition > 0 && std::isfinite(p.repetition), "repetition_penalty",
                         p.repetition, "more than 0 is needed, and 1 means off"));
  RETURN_IF_ERROR(Refuse(std::isfinite(p.presence), "presence_penalty", p.presence, "0 means off"));
  RETURN_IF_ERROR(
      Refuse(std::isfinite(p.frequency), "frequency_penalty", p.frequency, "0 means off"));
  RETURN_IF_ERROR(Refuse(s.deadline_s >= 0 && std::isfinite(s.deadline_s), "deadline_s",
                         s.deadline_s, "seconds are needed, and 0 means none"));
  for (const int32_t id : s.stop_ids) {
    const absl::Status status = CheckId(id, config);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("stop_ids: ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckIds(const std::vector<int32_t>& ids, const ModelConfig& config) {
  if (ids.empty()) return absl::InvalidArgumentError("a prompt without tokens");
  for (const int32_t id : ids) RETURN_IF_ERROR(CheckId(id, config));
  return absl::OkStatus();
}

absl::Status CheckSpec(const GenerateSpec& spec, const ModelConfig& config) {
  RETURN_IF_ERROR(CheckSampling(spec.sampling, config));
  if (spec.deterministic && spec.sampling.deadline_s > 0) {
    return absl::InvalidArgumentError(
        "deterministic and deadline_s exclude each other: where a deadline cuts depends on how "
        "fast this machine is; use max_new_tokens");
  }
  for (const PromptGroupSpec& group : spec.groups) {
    absl::Status status = CheckIds(group.ids, config);
    const int64_t tokens = static_cast<int64_t>(group.ids.size());
    if (status.ok() && tokens >= config.context) {
      status = absl::InvalidArgumentError(absl::StrCat("a prompt of ", tokens,
                                                       " tokens leaves no room in a context of ",
                                                       config.context, "; shorten the prompt"));
    }
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("group ", group.group_index, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace whetstone
