#include "gpu_trainer/rpc/update_order.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace whetstone {

std::string UpdateText(const v1::UpdateName& name) {
  return absl::StrCat(name.phase() == v1::UpdateName::WARMUP ? "warm-up" : "GRPO", " step ",
                      name.step());
}

bool SameUpdate(const v1::UpdateName& a, const v1::UpdateName& b) {
  return a.phase() == b.phase() && a.step() == b.step();
}

absl::Status CheckSuccessor(const std::optional<v1::UpdateResponse>& last,
                            const v1::UpdateName& name) {
  if (name.phase() != v1::UpdateName::WARMUP && name.phase() != v1::UpdateName::GRPO) {
    return absl::InvalidArgumentError("name.phase must be WARMUP or GRPO");
  }
  const bool same_phase = last.has_value() && last->name().phase() == name.phase();
  const int64_t wanted = same_phase ? last->name().step() + 1 : 1;
  if (name.step() == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(UpdateText(name), " can not be applied: the last update of this policy is ",
                   last.has_value() ? UpdateText(last->name()) : std::string("none"), ", so step ",
                   wanted, " is next; load the checkpoint this step follows"));
}

}  // namespace whetstone
