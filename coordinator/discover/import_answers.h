// What an import asks, a person, the command line or the usual answer tells.
//
//   ImportAnswers answers("--answer", &console, /*ask=*/true);
//   RETURN_IF_ERROR(answers.Add("a.shape=n,n"));
//   ASSIGN_OR_RETURN(ImportedProblem made, ImportFile({.file = "saxpy.cc"}, &answers));
#ifndef WHETSTONE_COORDINATOR_DISCOVER_IMPORT_ANSWERS_H_
#define WHETSTONE_COORDINATOR_DISCOVER_IMPORT_ANSWERS_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/authoring/input_generator.h"
#include "coordinator/authoring/problem_import.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/terminal/console.h"

namespace whetstone {

// Each question is answered by what was added, else by the person at the terminal (`ask`), else by
// the suggestion.
class ImportAnswers {
 public:
  // `option` is the command's name for added answers, for messages. The console is borrowed.
  ImportAnswers(std::string option, Console* console, bool ask)
      : option_(std::move(option)), console_(console), ask_(ask) {}

  // INVALID_ARGUMENT: it is not KEY=VALUE.
  absl::Status Add(const std::string& answer);
  // Suggests what `answer` returns where the import has no suggestion of its own.
  using Suggestion = std::function<std::string(const ImportQuestion&)>;
  void Suggest(const std::string& key, Suggestion answer) { suggested_[key] = std::move(answer); }
  absl::StatusOr<std::string> Answer(const ImportQuestion& question);
  // Says whether an answer was added for this key.
  bool Given(const std::string& key) const { return given_.count(key) > 0; }
  // Returns all answers so far, by key.
  const std::map<std::string, std::string>& answered() const { return answered_; }
  // Returns the keys that the command line or the person answered.
  const std::set<std::string>& said() const { return said_; }
  // Returns "KEY=VALUE" for each that nobody answered.
  const std::vector<std::string>& chosen() const { return chosen_; }
  // INVALID_ARGUMENT: something was added that nobody asked for.
  absl::Status CheckAllUsed() const;

 private:
  absl::StatusOr<std::string> Find(const ImportQuestion& question);
  absl::StatusOr<std::string> Checked(const ImportQuestion& question,
                                      const std::string& answer) const;
  absl::StatusOr<std::string> Ask(const ImportQuestion& question, const std::string& suggestion);

  const std::string option_;
  Console* const console_;
  const bool ask_;
  std::map<std::string, std::string> given_;
  std::map<std::string, Suggestion> suggested_;
  std::map<std::string, std::string> answered_;
  std::vector<std::string> asked_;
  std::set<std::string> said_;
  std::vector<std::string> chosen_;
};

struct ImportFiles {
  std::string file;
  std::string function = {};  // empty: the only one
  std::string expert = {};    // a file; empty: none
  std::optional<GivenGenerator> generator = {};
  bool look = true;  // at the function's loops, for suggestions; it takes a second
  // Where the function is run if its loops do not say how long arrays are, and where that is said;
  // both borrowed. Null: they are asked.
  WorkerOnDemand* worker = nullptr;
  Console* console = nullptr;
};

// The option of `whet discover` that gives an answer.
inline constexpr char kAnswerOption[] = "--answer";

// Returns what the file holds; nothing of an empty path. Errors are those of ReadFile, and of a
// file that is no UTF-8.
absl::StatusOr<std::optional<GivenGenerator>> ReadGeneratorFile(const std::string& path);

// Errors are those of ImportProblem, of the answers, and of files that cannot be read or are no
// UTF-8.
absl::StatusOr<ImportedProblem> ImportFile(const ImportFiles& files, ImportAnswers* answers);

// Imports with these answers, by key. `all` (may be null) gets them and those that were suggested.
absl::StatusOr<ImportedProblem> ImportAnswered(ImportFiles files,
                                               const std::map<std::string, std::string>& answered,
                                               Console* console,
                                               std::map<std::string, std::string>* all = nullptr);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_IMPORT_ANSWERS_H_
