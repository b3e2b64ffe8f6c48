// The problem of a file that an operator brings: a prompt file as it is, a C++ source imported.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_OWN_PROBLEM_H_
#define WHETSTONE_COORDINATOR_DISCOVER_OWN_PROBLEM_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/authoring/input_generator.h"
#include "coordinator/terminal/console.h"

namespace whetstone {

struct OwnProblemOptions {
  std::string file;                         // a C++ source, or a prompt file (*.md)
  std::string function;                     // of a C++ source; empty: the only one
  std::optional<GivenGenerator> generator;  // of a C++ source; nothing: fills make its inputs
  std::vector<std::string> answers;         // KEY=VALUE, to the import's questions
  bool ask = false;                         // what was not answered, at the terminal
};

// Returns the text of the problem. Where nobody says at which sizes it is timed, the reference is
// measured: twice as large, until a call takes a tenth of a millisecond (half as large, where one
// takes more than five); all sizes, or one of them where all together do not make it longer. Where
// nobody says at which sizes it is checked, these are smaller where a check takes more than a
// second. What nobody answered is answered so that the function is right by its own measure
// (sound_answers.h), and wrong programs are wrong (telling_answers.h). Errors are those of
// ParsePromptFile, ImportFile, SoundAnswers, TellingAnswers and LocalWorker. The console is
// borrowed.
absl::StatusOr<std::string> OwnProblem(const OwnProblemOptions& options, Console* console);

// Returns what the problem is made of beside the file, a line each.
std::string AskedOf(const OwnProblemOptions& options);

// Returns "n=96 m=96 k=12" with every value replaced: "n=200 m=200 k=8", where those below the
// largest stay small; "96" becomes "200". With `only` "n" all others are small: "n=200 m=8 k=8".
std::string AtSize(const std::string& point, int64_t size, const std::string& only = "");

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_OWN_PROBLEM_H_
