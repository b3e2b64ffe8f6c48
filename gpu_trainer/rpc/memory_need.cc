#include "gpu_trainer/rpc/memory_need.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_trainer/engine/cache/kv_cache.h"
#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"

namespace whetstone {
namespace {

constexpr int64_t kUsualTokens = 1024;
constexpr int64_t kUsualLoraRank = 16;

// Returns the bytes of both moments of so many numbers.
int64_t MomentBytes(int64_t numbers, MomentType type) {
  switch (type) {
    case MomentType::kFp32:
      return 8 * numbers;
    case MomentType::kBf16:
      return 4 * numbers;
    case MomentType::kEightBit:
      return 2 * numbers + 8 * (numbers / kernels::kBlock);  // Each block has a scale besides.
  }
  return 0;
}

// Returns the bytes that make fp32 masters of so many weights.
int64_t MasterBytes(int64_t numbers, torch::ScalarType dtype) {
  if (dtype == torch::kFloat) return 0;
  return dtype == torch::kBFloat16 ? 2 * numbers : 4 * numbers;
}

int64_t ActivationBytesPerToken(const ModelConfig& config, torch::ScalarType dtype,
                                ActivationCheckpointing checkpointing) {
  using Keep = DecoderPass::Keep;
  const int64_t all = DecoderPass::KeptBytesPerToken(config, dtype, Keep::kAll);
  if (checkpointing == ActivationCheckpointing::kOff) return all;
  // One layer at a time is computed again.
  return DecoderPass::KeptBytesPerToken(config, dtype, Keep::kInputs) + all / config.layers;
}

std::string Gib(int64_t bytes) {
  return absl::StrFormat("%.3g GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string BreakdownOf(const MemoryNeed& need) {
  std::vector<std::string> items;
  for (const auto& [name, bytes] : std::vector<std::pair<const char*, int64_t>>{
           {"weights", need.weights},
           {"adapters", need.adapters},
           {"gradients", need.gradients},
           {"the optimizer's masters and moments", need.optimizer},
           {"activations", need.activations},
           {"keys and values", need.keys_values}}) {
    if (bytes > 0) items.push_back(absl::StrCat(name, " ", Gib(bytes)));
  }
  return absl::StrJoin(items, ", ");
}

// A Change is a setting that takes less memory.
struct Change {
  std::string setting;
  LearnerOptions options;  // The options with it.
};

// Returns the changes that `options` does not have yet. `room` is how many bytes are left for
// activations, negative if none.
std::vector<Change> Changes(const ModelConfig& config, torch::ScalarType dtype,
                            const LearnerOptions& options, torch::Device device, int64_t room) {
  std::vector<Change> changes;
  const auto add = [&](std::string setting, const auto& change) {
    changes.push_back({std::move(setting), options});
    change(changes.back().options);
  };
  if (options.activation_checkpointing == ActivationCheckpointing::kOff) {
    add("train.activation_checkpointing: full",
        [](LearnerOptions& o) { o.activation_checkpointing = ActivationCheckpointing::kOn; });
  }
  if (options.token_budget > ActivationBudget::kTokensMin) {
    const int64_t fit =
        room / ActivationBytesPerToken(config, dtype, options.activation_checkpointing);
    const int64_t tokens = std::max(fit, ActivationBudget::kTokensMin);
    add(absl::StrCat("train.token_budget: ", tokens),
        [&](LearnerOptions& o) { o.token_budget = tokens; });
  }
  if (device.is_cpu() && options.optimizer_state == MomentType::kFp32) {
    add("train.optimizer_state: bf16",
        [](LearnerOptions& o) { o.optimizer_state = MomentType::kBf16; });
  }
  if (device.is_cpu() && options.optimizer_state != MomentType::kEightBit) {
    add("train.optimizer_state: 8bit",
        [](LearnerOptions& o) { o.optimizer_state = MomentType::kEightBit; });
  }
  if (options.lora.rank == 0) {
    const bool both = options.sharding == Sharding::kParameters;  // Adapters go without that.
    add(absl::StrCat("train.lora: {rank: ", kUsualLoraRank, "}",
                     both ? " and train.sharding: gradients" : ""),
        [&](LearnerOptions& o) {
          o.lora = {.rank = kUsualLoraRank, .alpha = 32, .targets = LoraTargets(config)};
          if (both) o.sharding = Sharding::kGradients;
        });
  }
  const bool alone = options.ranks == nullptr || options.ranks->alone();
  for (const Sharding more : kShardings) {
    if (alone || options.sharding >= more) continue;
    if (more == Sharding::kParameters && options.lora.rank > 0) continue;
    add(absl::StrCat("train.sharding: ", NameOf(more)),
        [more](LearnerOptions& o) { o.sharding = more; });
  }
  return changes;
}

}  // namespace

MemoryNeed NeedOf(const ModelConfig& config, torch::ScalarType dtype,
                  const LearnerOptions& options) {
  const int64_t bytes = static_cast<int64_t>(torch::elementSize(dtype));
  MemoryNeed need;
  need.weights = bytes * config.parameters();
  int64_t learning = config.parameters();
  if (options.lora.rank > 0) {
    const LoraNumbers lora = NumbersOf(config, options.lora);
    need.adapters = 4 * lora.adapters + bytes * lora.bases;
    learning = lora.adapters;
  }
  const int64_t ranks = options.ranks != nullptr ? options.ranks->size() : 1;
  // `ends` counts the numbers of what belongs to no layer.
  const int64_t ends = config.hidden + config.vocab * config.hidden * (config.tied ? 1 : 2);
  need.gradients = 4 * learning;
  if (options.sharding >= Sharding::kGradients && ranks > 1) {
    // `whole` and `turns` are the whole gradients that GradientBuckets has in memory at once.
    const int64_t whole = options.lora.rank > 0 ? 0 : ends;
    const int64_t turns = std::min<int64_t>(GradientBuckets::kTurns, config.layers);
    need.gradients = 4 * (learning / ranks + whole + (learning - whole) / config.layers * turns);
  }
  need.weights_in_update = need.weights;
  if (options.sharding == Sharding::kParameters && ranks > 1) {
    // A layer is in work and two are on the way (FsdpShards), of which Gloo makes copies.
    const int64_t layers = config.parameters() - ends, layer = layers / config.layers;
    need.weights_in_update = bytes * (layers / ranks + ends + 3 * layer);
    need.resharding = bytes * 5 * layer;
  }
  need.optimizer = (MomentBytes(learning, options.optimizer_state) +
                    (options.lora.rank > 0 ? 0 : MasterBytes(learning, dtype))) /
                   (options.sharding == Sharding::kNone ? 1 : ranks);
  const int64_t tokens =
      options.token_budget > 0 ? options.token_budget : ActivationBudget::kTokensMin;
  need.activations =
      tokens * ActivationBytesPerToken(config, dtype, options.activation_checkpointing);
  need.keys_values = KvBytes(config, dtype, std::min(kUsualTokens, config.context));
  return need;
}

absl::Status CheckMemory(const ModelConfig& config, torch::ScalarType dtype,
                         const LearnerOptions& options, torch::Device device, int64_t free_bytes) {
  if (!device.is_cpu()) {  // Logits in f32, and their gradient.
    free_bytes -= kHeadChunkOfAGpu.rows * config.vocab *
                  static_cast<int64_t>(sizeof(float) + torch::elementSize(dtype));
  }
  const MemoryNeed need = NeedOf(config, dtype, options);
  if (need.total() <= free_bytes) return absl::OkStatus();
  const int64_t room = free_bytes - need.weights_in_update - need.learning();
  std::vector<std::string> fitting;
  for (const Change& change : Changes(config, dtype, options, device, room)) {
    const int64_t total = NeedOf(config, dtype, change.options).total();
    if (total <= free_bytes) fitting.push_back(absl::StrCat(change.setting, " (", Gib(total), ")"));
  }
  std::string advice;
  if (!fitting.empty()) {
    advice = absl::StrCat("it would fit with ", absl::StrJoin(fitting, ", or with "));
  } else {
    // Takes of each kind of change the last that is possible, which is the smallest.
    std::vector<std::string> settings;
    LearnerOptions smallest = options;
    while (true) {
      const std::vector<Change> more = Changes(config, dtype, smallest, device, /*room=*/0);
      if (more.empty()) break;
      // The last of those for the same setting is the smallest.
      const auto key = [](const Change& c) { return c.setting.substr(0, c.setting.find(':')); };
      const Change& next = *std::find_if(more.rbegin(), more.rend(),
                                         [&](const Change& c) { return key(c) == key(more[0]); });
      settings.push_back(next.setting);
      smallest = next.options;
    }
    const int64_t total = NeedOf(config, dtype, smallest).total();
    advice = total <= free_bytes
                 ? absl::StrCat("it would fit with all of ", absl::StrJoin(settings, ", "), " (",
                                Gib(total), ")")
                 : absl::StrCat("no setting makes it fit (", Gib(total),
                                " at least); take a smaller model or a device with more memory");
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("learning with this model takes ", Gib(need.total()), " and ", device.str(),
                   " has ", Gib(free_bytes), " free for it: ", BreakdownOf(need), "; ", advice));
}

}  // namespace whetstone
