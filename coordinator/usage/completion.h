// What may come next on a command line that somebody is writing: commands, options, the values of
// options that are one of a few words, campaign keys behind --set, run folders. Shells ask through
// `whet completion answer` (coordinator/cli/cmd_completion.cc has their scripts).
#ifndef WHETSTONE_COORDINATOR_USAGE_COMPLETION_H_
#define WHETSTONE_COORDINATOR_USAGE_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace whetstone {

struct CompletionWord {
  std::string word;   // the whole word, of which a part is written already
  std::string about;  // one short line; may be empty
};

struct CompletionAnswer {
  enum class Paths { kNone, kFiles, kFolders };
  std::vector<CompletionWord> words;
  Paths paths = Paths::kNone;  // these the shell completes itself
};

// `words` are those behind "whet", the last of which is not finished, and may be empty. What is
// wrong before it is passed over. Folders are looked at where a run may be named, files are not.
CompletionAnswer Complete(const CLI::App& root, std::vector<std::string> words);

// Returns the answer as scripts read it: each word on a line of its own, with its text behind a
// tab; ":files" or ":folders" asks the shell for these.
std::string CompletionText(const CompletionAnswer& answer);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_USAGE_COMPLETION_H_
