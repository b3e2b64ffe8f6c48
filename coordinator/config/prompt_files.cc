#include "coordinator/config/prompt_files.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace whetstone {

absl::StatusOr<std::vector<std::string>> PromptFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().extension() != ".md" || entry.path().filename() == "README.md") continue;
      found.push_back(entry.path().string());
    }
    if (error) {
      return absl::PermissionDeniedError(absl::StrCat("cannot read ", path, ": ", error.message()));
    }
    if (found.empty())
      return absl::NotFoundError(absl::StrCat(path, " holds no prompt file (*.md)"));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace whetstone
