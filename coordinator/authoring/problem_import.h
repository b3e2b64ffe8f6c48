// A C++ function and a few answers become a prompt file (`whet problem import`).
//
//   ImportRequest request{.code = text, .name = "saxpy.cc"};
//   request.answer = [](const ImportQuestion& q) { return … q.text … };
//   ASSIGN_OR_RETURN(ImportedProblem made, ImportProblem(request));
//   WriteFileAtomically(made.id + ".md", made.text);
//
// What the signature says is not asked: types, which arrays are inputs, what is returned. The text
// that comes back parses; whether the problem is sound is for `whet problem check`.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_IMPORT_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_IMPORT_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/authoring/imported_function.h"
#include "coordinator/authoring/input_generator.h"

namespace whetstone {

struct ImportQuestion {
  std::string key;         // "a.shape", unique
  std::string text;        // "Extents of 'a', first the slowest: n, n"
  std::string suggestion;  // what most want; empty: there is no such answer
  // INVALID_ARGUMENT: why an answer will not do.
  std::function<absl::Status(const std::string&)> check;
};

// How floating-point numbers are filled where nobody says otherwise.
inline constexpr char kUsualFloats[] = "uniform(-1, 1)";

// What a look at the function suggests. All may be wrong, and is asked.
struct ImportHints {
  std::map<std::string, std::string> extents;  // of arrays: "n*m"
  std::string why_no_extents;                  // of the others, where one knows
  // How inputs are filled, "uniform(1, 8)", where that is not the usual way: by "a", or "a.field".
  std::map<std::string, std::string> fills;
  // The whole numbers that are sizes: all others are values.
  std::optional<std::set<std::string>> sizes;
};

struct ImportRequest {
  std::string code;           // a C++ source that holds the function and what it needs
  std::string name;           // the file's, for messages
  std::string function = {};  // empty: the only one
  std::string expert = {};    // a source that defines the same function faster; empty: none yet
  std::optional<GivenGenerator> generator = {};  // nothing: fills make all inputs
  // Looks at `function` of the source, which with its generator (may be null) includes these
  // headers; may be null.
  std::function<ImportHints(const std::vector<std::string>& headers,
                            const ImportedFunction& function, const InputGenerator* generator)>
      look = {};
  // Gives an answer that `check` accepts, or the error that ends the import.
  std::function<absl::StatusOr<std::string>(const ImportQuestion&)> answer = {};
};

struct ImportedProblem {
  std::string id;
  std::string text;
};

// INVALID_ARGUMENT "NAME:LINE: WHAT": no function that a problem can call, several and none chosen,
// includes of files that a candidate does not have; or answers that together make no problem.
absl::StatusOr<ImportedProblem> ImportProblem(const ImportRequest& request);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_IMPORT_H_
