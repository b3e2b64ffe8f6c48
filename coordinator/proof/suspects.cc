#include "coordinator/proof/suspects.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<std::string> KeepSuspect(const RunPaths& paths, const v1::Verdict& verdict,
                                        absl::string_view source) {
  const std::vector<std::string> words = absl::StrSplit(verdict.candidate_id(), '/');
  CHECK(words.size() >= 3);
  const std::string* const rollout = &words[words.size() - 3];
  RETURN_IF_ERROR(MakeDirectories(paths.suspects()));
  const std::string path =
      absl::StrCat(paths.suspects(), "/", rollout[0], "-", rollout[1], "-", rollout[2], ".cc");
  const std::string why = absl::StrReplaceAll(verdict.detail(), {{"\n", "\n// "}});
  RETURN_IF_ERROR(WriteFileAtomically(
      path,
      absl::StrCat("// SUSPECT: ", why, "\n// candidate ", verdict.candidate_id(), ", problem ",
                   verdict.problem_hash(), ", worker ", verdict.worker(), "\n", source)));
  return path;
}

}  // namespace whetstone
