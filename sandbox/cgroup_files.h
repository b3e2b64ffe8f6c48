// Where the host's control groups are mounted, where this process is in them, and the small files
// that they consist of.
#ifndef WHETSTONE_SANDBOX_CGROUP_FILES_H_
#define WHETSTONE_SANDBOX_CGROUP_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Folders of this process's own groups; empty: not mounted.
struct CgroupHome {
  std::string v2;
  std::map<std::string, std::string> v1;  // by controller: "memory", "pids", "cpuacct"
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup. A mount shows its own root's
// subtree only; where this process lies outside of that, the mount's top stands for it.
CgroupHome ParseCgroupHome(absl::string_view mountinfo, absl::string_view groups);

// Writes a whole value at once. The message names the file.
absl::Status WriteCgroupFile(const std::string& path, absl::string_view value);
// The file's text, or "".
std::string ReadCgroupFile(const std::string& path);
// The number after `key` in a file of "key number" lines; with an empty key the file's only number.
// 0 where there is none.
int64_t CgroupNumber(absl::string_view text, absl::string_view key);

// The folder of process `pid`'s groups: "whetstone-<pid namespace>-<pid>". Containers that share
// one tree of groups may use the same pids, each in a namespace of its own.
std::string CgroupFolderName(pid_t pid);
// Makes this process's folder in `home` after it has removed those of workers of its pid namespace
// that are no more. PERMISSION_DENIED where the user may not.
absl::StatusOr<std::string> MakeOwnCgroupFolder(const std::string& home);
// Removes a folder and its children, each empty of processes. False: something is still in it.
bool RemoveCgroupFolder(const std::string& path);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_CGROUP_FILES_H_
