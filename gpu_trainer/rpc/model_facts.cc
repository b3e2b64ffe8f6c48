#include "gpu_trainer/rpc/model_facts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/sha256.h"

namespace whetstone {
namespace {

std::string HashOf(const Weights& weights) {
  std::string hashes;
  for (const auto& [name, tensor] : weights.Named()) {
    const torch::Tensor here = tensor.cpu().contiguous();
    absl::StrAppend(&hashes, name,
                    Sha256Hex({static_cast<const char*>(here.const_data_ptr()),
                               static_cast<size_t>(here.nbytes())}));
  }
  return Sha256Hex(hashes);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> FactsOf(const Policy& policy) {
  const LearnerOptions& o = policy.learner_options;
  std::string companions;
  for (const auto& [name, content] : policy.companions) {
    absl::StrAppend(&companions, name, Sha256Hex(content));
  }
  return {{"config.json", Sha256Hex(policy.config.json)},
          {"tokenizer", Sha256Hex(companions)},
          {"weights", HashOf(policy.weights)},
          {"learner settings",
           absl::StrCat("token_budget ", o.token_budget, ", activation_checkpointing ",
                        static_cast<int>(o.activation_checkpointing), ", optimizer_state ",
                        NameOf(o.optimizer_state), ", sharding ", NameOf(o.sharding),
                        ", lora rank ", o.lora.rank, ", alpha ", o.lora.alpha, ", targets [",
                        absl::StrJoin(o.lora.targets, " "), "]")},
          {"last update", policy.last_update ? policy.last_update->name().ShortDebugString()
                                             : std::string("none")}};
}

}  // namespace whetstone
