// A prompt file (prompts/README.md teaches the format) becomes a v1::Problem, or an error that
// names file and line.
//
//   ASSIGN_OR_RETURN(v1::Problem problem, ParsePromptFile("prompts/matmul_f32.md"));
//   std::string hash = ProblemHash(problem);                           // problem_hash.h
//   std::vector<v1::Message> messages = RenderMessages(problem);       // render.h
//
// Parsing is strict: unknown keys, missing sections, disagreement between `signature` and `args`, a
// size that is not positive or does not fit into memory are all errors. Everything left out is
// filled in, so two files that mean the same give the same Problem. CRLF and a byte order mark are
// accepted. Input is bounded (kPromptBytesMax) and may be hostile.
#ifndef WHETSTONE_COORDINATOR_PROMPT_PROMPT_FILE_H_
#define WHETSTONE_COORDINATOR_PROMPT_PROMPT_FILE_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Larger files are refused.
inline constexpr size_t kPromptBytesMax = 1 << 20;

// NOT_FOUND and the like: the file cannot be read. INVALID_ARGUMENT: "PATH:LINE: what is wrong".
absl::StatusOr<v1::Problem> ParsePromptFile(const std::string& path);

// Does the same for text in memory; `name` stands for the path in messages.
absl::StatusOr<v1::Problem> ParsePrompt(absl::string_view text, absl::string_view name);

// PromptLocations say where the parts of a prompt file stand, for messages about a file that
// parses.
class PromptLocations {
 public:
  // Reads a `text` that ParsePrompt accepts; anything else gives locations without a line.
  static PromptLocations Read(absl::string_view text, absl::string_view name);
  // Returns "p.md:31" for a section ("expert"), a key ("sizes") or an argument ("args.a"), and the
  // name alone for what the file does not have.
  std::string Of(const std::string& part) const;

 private:
  std::string name_;
  std::map<std::string, std::string> parts_;  // part → "p.md:31"
};

// INVALID_ARGUMENT: the problem is held out (its split is not "train"), so no campaign may train on
// it. Names `path`.
absl::Status CheckTrainable(const v1::Problem& problem, const std::string& path);

// INVALID_ARGUMENT: the problem may not be evaluated in a campaign that learns, as its split is not
// "valid". Names `path`.
absl::Status CheckHeldOut(const v1::Problem& problem, const std::string& path);

// Returns "train", "valid" or "test".
std::string SplitName(const v1::Problem& problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_PROMPT_FILE_H_
