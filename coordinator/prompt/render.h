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

// Stands in generate.response_prefix for the signature of the function that is asked for.
inline constexpr char kSignatureWord[] = "{signature}";

// Returns one user message: the prose, the request, and the problem's structs and reference in a
// ```cpp block. The trainer renders the model's chat template around it.
std::vector<v1::Message> RenderMessages(const v1::Problem& problem);

// Makes the same message from its parts; `prose` may be empty.
std::vector<v1::Message> RenderMessages(absl::string_view prose, absl::string_view code);

// Returns these messages once for each of `hints`, whose sentence stands at the end of the last
// one; an empty sentence leaves them as they are.
std::vector<std::vector<v1::Message>> RenderHinted(const std::vector<v1::Message>& messages,
                                                   const std::vector<std::string>& hints);

// Returns `code`'s definition of the function `name` from the beginning of its line to the closing
// parenthesis, as it is written there: "void f(const float* a, int n)". Empty: there is none.
std::string SignatureText(absl::string_view code, absl::string_view name);

// Returns what an answer begins with: `response_prefix` with `signature` in the place of each
// {signature}.
std::string RenderResponsePrefix(absl::string_view response_prefix, absl::string_view signature);
// Does the same with the signature as the problem's reference has it.
std::string RenderResponsePrefix(absl::string_view response_prefix, const v1::Problem& problem);

// Returns the answer that a worked example teaches: `code` in a ```cpp block and nothing else.
std::string RenderAnswer(absl::string_view code);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_RENDER_H_
