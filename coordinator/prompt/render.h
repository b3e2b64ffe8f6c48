// The model is asked in these words. GRPO and the supervised warm-up share one wording: a policy
// warmed up on other words answers worse. It is short because every prompt token is encoded at
// every step.
#ifndef WHETSTONE_COORDINATOR_PROMPT_RENDER_H_
#define WHETSTONE_COORDINATOR_PROMPT_RENDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Returns one user message: the prose, the request, and the problem's structs and reference in a
// ```cpp block. The trainer renders the model's chat template around it.
std::vector<v1::Message> RenderMessages(const v1::Problem& problem);

// Makes the same message from its parts; `prose` may be empty.
std::vector<v1::Message> RenderMessages(absl::string_view prose, absl::string_view code);

// Returns the answer that a worked example teaches: `code` in a ```cpp block and nothing else.
std::string RenderAnswer(absl::string_view code);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_RENDER_H_
