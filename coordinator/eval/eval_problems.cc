#include "coordinator/eval/eval_problems.h"

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/config/prompt_files.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

absl::Status OfAnotherSplit(const std::string& file, const std::string& split,
                            const std::string& wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      file, " is of split ", split, ", and problems of split ", wanted, " were asked for: ",
      split == "train" ? "campaigns train on it, so what a policy shows there may be memory; " : "",
      "--split ", split, " evaluates it, knowing that"));
}

}  // namespace

absl::StatusOr<ChosenProblems> ChooseProblems(const std::vector<std::string>& paths,
                                              const std::string& split) {
  ChosenProblems chosen;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    ASSIGN_OR_RETURN(const std::vector<std::string> files, PromptFiles({path}));
    for (const std::string& file : files) {
      const std::string absolute = fs::absolute(file).lexically_normal().string();
      if (!seen.insert(absolute).second) continue;
      ASSIGN_OR_RETURN(const v1::Problem problem, ParsePromptFile(file));
      const std::string of = SplitName(problem);
      if (of == split) {
        chosen.files.push_back(absolute);
      } else if (folder) {
        ++chosen.left_out[of];
      } else {
        return OfAnotherSplit(file, of, split);
      }
    }
  }
  if (!chosen.files.empty()) return chosen;
  std::vector<std::string> others;
  for (const auto& [other, count] : chosen.left_out) {
    others.push_back(absl::StrCat(count, " of split ", other));
  }
  return absl::InvalidArgumentError(absl::StrCat("no problem of split ", split, " is in ",
                                                 absl::StrJoin(paths, ", "), " (only ",
                                                 absl::StrJoin(others, ", "),
                                                 "): name others with --problems, or their split "
                                                 "with --split"));
}

}  // namespace whetstone
