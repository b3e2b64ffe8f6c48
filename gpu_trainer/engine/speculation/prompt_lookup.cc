#include "gpu_trainer/engine/speculation/prompt_lookup.h"

#include <algorithm>

namespace whetstone {

std::vector<int32_t> FindDraft(const std::vector<int32_t>& prompt,
                               const std::vector<int32_t>& sampled, int64_t tokens_max) {
  const int64_t from_prompt = static_cast<int64_t>(prompt.size());
  const int64_t n = from_prompt + static_cast<int64_t>(sampled.size());
  const auto at = [&](int64_t i) {
    return i < from_prompt ? prompt[static_cast<size_t>(i)]
                           : sampled[static_cast<size_t>(i - from_prompt)];
  };
  std::vector<int32_t> draft;
  for (const int64_t length : {3, 2}) {
    for (int64_t begin = n - length - 1; begin >= 0; --begin) {
      int64_t same = 0;
      while (same < length && at(begin + same) == at(n - length + same)) ++same;
      if (same < length) continue;
      const int64_t end = std::min(n, begin + length + tokens_max);
      for (int64_t i = begin + length; i < end; ++i) draft.push_back(at(i));
      return draft;
    }
  }
  return draft;
}

}  // namespace whetstone
