#include "cpu_bench_worker/measure/work_folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

constexpr char kFolderPrefix[] = "whet-worker-";

// A folder's name holds its owner's pid.
void SweepAbandonedFolders() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::temp_directory_path(ignored), ignored)) {
    const std::string name = entry.path().filename();
    if (!absl::StartsWith(name, kFolderPrefix)) continue;
    const int pid = std::atoi(name.c_str() + sizeof(kFolderPrefix) - 1);
    struct stat info;
    if (pid <= 0 || lstat(entry.path().c_str(), &info) != 0 || info.st_uid != geteuid()) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
  }
}

}  // namespace

absl::StatusOr<TempDir> MakeWorkFolder() {
  SweepAbandonedFolders();
  return TempDir::Make(absl::StrCat(kFolderPrefix, getpid(), "-"));
}

}  // namespace whetstone
