// Finds the program in a completion.
//
//   ExtractCode("Sure:\n```cpp\nint f();\n```\nDone.", "")  →  "int f();\n"
//
// The rules are Markdown's, as far as they matter: a fence is three or more backticks at most three
// blanks from the line's start, closed by one at least as long. A block counts if its language is
// cpp, c++, cc, cxx, c, or absent. The last closed block wins (an answer follows its drafts);
// without one, the block left open at the end, since a completion may stop at the length limit or
// at a stop string. `response_prefix` (already part of the prompt) may hold the opening fence, and
// the beginning of the program behind it, which is then part of what is returned.
#ifndef WHETSTONE_COORDINATOR_DURABLE_CODE_EXTRACTOR_H_
#define WHETSTONE_COORDINATOR_DURABLE_CODE_EXTRACTOR_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// Returns the program; nothing if there is no block, or only blank ones.
std::optional<std::string> ExtractCode(absl::string_view completion,
                                       absl::string_view response_prefix);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CODE_EXTRACTOR_H_
