// The problems that an evaluation is asked for.
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_PROBLEMS_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_PROBLEMS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

struct ChosenProblems {
  std::vector<std::string> files;       // absolute, in order, each once
  std::map<std::string, int> left_out;  // how many of the folders' problems are of another split
};

// Returns the prompt files of `split` ("train", "valid" or "test") that `paths` name: of folders
// those of that split, and files as they are. INVALID_ARGUMENT: a file that is named is of another
// split, no problem of that split is there, or a prompt file does not parse. NOT_FOUND: no such
// file.
absl::StatusOr<ChosenProblems> ChooseProblems(const std::vector<std::string>& paths,
                                              const std::string& split);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_PROBLEMS_H_
