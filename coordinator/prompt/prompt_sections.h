// Splits a prompt file into front matter, prose and fenced sections, and knows the line of each.
// They have no meaning yet: prompt_file.h gives it.
#ifndef WHETSTONE_COORDINATOR_PROMPT_PROMPT_SECTIONS_H_
#define WHETSTONE_COORDINATOR_PROMPT_PROMPT_SECTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Returns INVALID_ARGUMENT "NAME:LINE: WHAT".
absl::Status PromptError(absl::string_view name, int line, absl::string_view what);

// Returns the same where `text` is not UTF-8, at its first such line. Nothing else can travel to a
// service.
absl::Status CheckUtf8(absl::string_view text, absl::string_view name);

struct CodeSection {
  std::string code;  // without the fence lines and without trailing newlines
  int line = 0;      // of the heading
};

struct PromptParts {
  std::string front_matter;   // YAML between the two "---" lines
  int front_matter_line = 0;  // of its first line
  std::string prose;          // trimmed
  int prose_line = 0;         // of the line after the front matter
  std::map<std::string, CodeSection> sections;
  int last_line = 0;
};

// Returns the names a "## name" heading may have.
const std::vector<std::string>& SectionNames();

// Accepts LF and CRLF and a leading byte order mark; the parts come back with LF alone. Refuses
// text that is not UTF-8 or holds control characters.
absl::StatusOr<PromptParts> SplitPrompt(absl::string_view text, absl::string_view name);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_PROMPT_SECTIONS_H_
