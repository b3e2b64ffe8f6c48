// How long arrays are whose lengths a function's loops do not say, found by running it.
//
// At a few sizes a worker runs the function on arrays that are longer than it needs, filled at
// random: how far it writes is seen; how far it reads shows where other numbers from some place on
// change nothing any more. The formula that gives these lengths (length_formula.h) is a guess:
// whether the function is right with arrays of just that length is for SoundAnswers to see. Where
// that does not find all, and the text says that an array tells where rows begin, or what loops
// count between (code_clues.h), it is filled so, and that is part of the guess.
//
//   ASSIGN_OR_RETURN(ProbedLengths probed,
//                    ProbeLengths(code, headers, function, {"out"}, {{"x", "n"}}, CluesIn(code),
//                                 worker));
//   probed.lengths;   // {{"out", "h*((w+7)/8)"}}
#ifndef WHETSTONE_COORDINATOR_DISCOVER_LENGTH_PROBE_H_
#define WHETSTONE_COORDINATOR_DISCOVER_LENGTH_PROBE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/authoring/imported_function.h"
#include "coordinator/discover/code_clues.h"
#include "coordinator/loop/local_worker.h"

namespace whetstone {

struct ProbedLengths {
  std::map<std::string, std::string> lengths;  // by array: "n*m"; those that are not known are
                                               // left out
  std::string why;                             // the others are not, where one knows
  // How inputs are filled that must be so, by name or "array.field": "sorted(0, 32*n)".
  std::map<std::string, std::string> fills;
};

// `code` holds the function and includes `headers`; `arrays` are parameters of it, and the lengths
// of `known` others are known; `sizes` are the whole numbers that its loops make sizes, where they
// say it. Errors are the worker's, which is borrowed. Takes about a second for
// each of nine sizes, and half a minute for a function that does not end; twice that where loops
// say that some whole numbers are no sizes, and four times where the text says something too.
absl::StatusOr<ProbedLengths> ProbeLengths(const std::string& code,
                                           const std::vector<std::string>& headers,
                                           const ImportedFunction& function,
                                           const std::set<std::string>& arrays,
                                           const std::map<std::string, std::string>& known,
                                           const std::optional<std::set<std::string>>& sizes,
                                           const CodeClues& clues, LocalWorker* worker);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_LENGTH_PROBE_H_
