#include "sandbox/cgroup_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/unique_fd.h"

namespace whetstone {
namespace {

// Returns the prefix of the folders of all workers in this pid namespace.
std::string Prefix() {
  struct stat space = {};
  stat("/proc/self/ns/pid", &space);  // Without /proc this leaves 0.
  return absl::StrCat("whetstone-", space.st_ino, "-");
}

// Returns the folder of group `path` (of /proc/self/cgroup) in a mount that shows `root` at
// `target`.
std::string FolderOf(absl::string_view target, absl::string_view root, absl::string_view path) {
  if (root != "/" && !absl::ConsumePrefix(&path, root)) return std::string(target);
  if (path == "/" || path.empty()) return std::string(target);
  const std::string folder = absl::StrCat(target, path);
  return access(folder.c_str(), F_OK) == 0 ? folder : std::string(target);
}

std::vector<std::string> SubFolders(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  closedir(directory);
  return names;
}

}  // namespace

CgroupHome ParseCgroupHome(absl::string_view mountinfo, absl::string_view groups) {
  // A line is "4:memory:/some/path", or "0::/path" for v2.
  std::map<std::string, std::string> paths;
  for (absl::string_view line : absl::StrSplit(groups, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      paths[std::string(controller)] = parts[2];
    }
  }
  CgroupHome home;
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n', absl::SkipEmpty())) {
    // A line is: id parent major:minor root target options … - type source super_options
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> left = absl::StrSplit(halves.first, ' ');
    const std::vector<std::string> right = absl::StrSplit(halves.second, ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] == "cgroup2" && home.v2.empty()) home.v2 = FolderOf(left[4], left[3], paths[""]);
    if (right[0] != "cgroup") continue;
    for (absl::string_view option : absl::StrSplit(right[2], ',')) {
      for (const char* controller : {"memory", "pids", "cpuacct"}) {
        if (option == controller && home.v1.count(controller) == 0) {
          home.v1[controller] = FolderOf(left[4], left[3], paths[controller]);
        }
      }
    }
  }
  return home;
}

absl::Status WriteCgroupFile(const std::string& path, absl::string_view value) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() >= 0 &&
      write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("writing '", value, "' to ", path));
}

std::string ReadCgroupFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = fd.get() < 0 ? 0 : read(fd.get(), text, sizeof(text));
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
}

int64_t CgroupNumber(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!key.empty() && (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, " "))) {
      continue;
    }
    int64_t number = 0;
    if (absl::SimpleAtoi(line, &number)) return number;
  }
  return 0;
}

std::string CgroupFolderName(pid_t pid) { return absl::StrCat(Prefix(), pid); }

absl::StatusOr<std::string> MakeOwnCgroupFolder(const std::string& home) {
  const std::string prefix = Prefix();
  for (const std::string& name : SubFolders(home)) {
    absl::string_view pid_text = name;
    int pid = 0;
    if (!absl::ConsumePrefix(&pid_text, prefix) || !absl::SimpleAtoi(pid_text, &pid)) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) RemoveCgroupFolder(absl::StrCat(home, "/", name));
  }
  const std::string own = absl::StrCat(home, "/", CgroupFolderName(getpid()));
  if (mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", own));
  }
  return own;
}

bool RemoveCgroupFolder(const std::string& path) {
  for (const std::string& name : SubFolders(path)) {
    RemoveCgroupFolder(absl::StrCat(path, "/", name));
  }
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

}  // namespace whetstone
