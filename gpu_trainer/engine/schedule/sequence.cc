#include "gpu_trainer/engine/schedule/sequence.h"

#include <algorithm>

#include "common/utf8.h"

namespace whetstone {
namespace {

// Returns where the first stop string starts, or npos. It looks only where the newest `added` bytes
// could complete one.
size_t FindStop(const std::string& text, size_t added, const std::vector<std::string>& stops) {
  size_t first = std::string::npos;
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    const size_t window = added + stop.size() - 1;
    first = std::min(first, text.find(stop, text.size() - std::min(text.size(), window)));
  }
  return first;
}

}  // namespace

int64_t TokensMax(const SamplingSpec& sampling, const PromptGroupSpec& group, int64_t context) {
  return std::min<int64_t>(sampling.max_new_tokens,
                           context - static_cast<int64_t>(group.ids.size()));
}

void Sequence::Take(const SampledToken& token, const StopRules& rules) {
  result.ids.push_back(token.id);
  result.logprobs.push_back(token.logprob);
  bool stopped = rules.stop_ids.count(token.id) > 0;
  if (!rules.tokenizer.IsSpecial(token.id)) {
    const absl::string_view added = rules.tokenizer.TokenBytes(token.id);
    bytes.append(added.data(), added.size());
    const size_t stop = FindStop(bytes, added.size(), rules.sampling.stop);
    if (stop != std::string::npos) {
      bytes.resize(stop);
      stopped = true;
    }
  }
  using Finish = Completion::Finish;
  if (stopped) {
    result.finish = Finish::kStop;
  } else if (static_cast<int64_t>(result.ids.size()) >= tokens_max) {
    result.finish = Finish::kLength;
  } else if (rules.sampling.deadline_s > 0 &&
             std::chrono::duration<double>(rules.clock.Now() - begin).count() >=
                 rules.sampling.deadline_s) {
    result.finish = Finish::kDeadline;
  } else {
    return;
  }
  result.text = ToValidUtf8(bytes);
  ended = true;
}

}  // namespace whetstone
