// Drafts come from the sequence itself: text repeats itself, code above all, so what followed the
// last few tokens the previous time they occurred is guessed to follow again ("prompt lookup";
// Saxena 2023, and Yang et al., arXiv 2304.04487).
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_PROMPT_LOOKUP_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Returns up to `tokens_max` tokens that followed the latest earlier occurrence of the last tokens
// (three, or else two) of `prompt` + `sampled`; none if there is no earlier occurrence.
std::vector<int32_t> FindDraft(const std::vector<int32_t>& prompt,
                               const std::vector<int32_t>& sampled, int64_t tokens_max);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
