#include "sandbox/init/mounts.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/unique_fd.h"
#include "sandbox/init/report.h"

namespace whetstone {
namespace {

// It exists everywhere, and is covered only inside this mount namespace.
constexpr char kBase[] = "/tmp";
constexpr char kOldRoot[] = "/.old";

void MakeParents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0755);  // A failure shows at the bind itself.
  }
}

void SetAttributes(const char* path, uint64_t attributes, unsigned flags, SetupStep step) {
  mount_attr attr = {};
  attr.attr_set = attributes;
  if (syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attr, sizeof(attr)) != 0) {
    FailSetup(step, errno, path);
  }
}

void Bind(const PlanMount& mount_entry) {
  const std::string source = std::string(kOldRoot) + std::string(mount_entry.source);
  const std::string target(mount_entry.target);
  struct stat info = {};
  if (lstat(source.c_str(), &info) != 0) {
    if (errno == ENOENT && mount_entry.optional) return;
    FailSetup(SetupStep::kBind, errno, mount_entry.source);
  }
  MakeParents(target);
  if (S_ISLNK(info.st_mode)) {
    char link[PATH_MAX] = {};
    if (readlink(source.c_str(), link, sizeof(link) - 1) < 0 ||
        symlink(link, target.c_str()) != 0) {
      FailSetup(SetupStep::kBind, errno, mount_entry.source);
    }
    return;
  }
  if (S_ISDIR(info.st_mode)) {
    mkdir(target.c_str(), 0755);
  } else {
    UniqueFd(open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  }
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    FailSetup(SetupStep::kBind, errno, mount_entry.source);
  }
  SetAttributes(target.c_str(),
                MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | (mount_entry.device ? 0 : MOUNT_ATTR_NODEV),
                AT_RECURSIVE, SetupStep::kBind);
}

// Makes a directory of the root tmpfs that stays writable when the root becomes read-only.
void MakeScratch(const char* path, const Plan& plan) {
  if (mkdir(path, 0700) != 0 ||
      chown(path, static_cast<uid_t>(plan.program_id), static_cast<gid_t>(plan.program_id)) != 0 ||
      mount(path, path, nullptr, MS_BIND, nullptr) != 0) {
    FailSetup(SetupStep::kMakeScratch, errno, path);
  }
}

}  // namespace

void BuildRoot(const Plan& plan) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    FailSetup(SetupStep::kMakeMountsPrivate, errno, "/");
  }
  // The program may write so much, beside the files it is given.
  int64_t bytes = plan.file_bytes + (int64_t{1} << 20);
  for (const auto& [name, content] : plan.files) {
    bytes += static_cast<int64_t>(content.size()) + 4096;
  }
  const std::string options =
      "mode=0755,size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(plan.inodes + 256);
  if (mount("whetstone", kBase, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    FailSetup(SetupStep::kMountRoot, errno, options);
  }
  const std::string old_root = std::string(kBase) + kOldRoot;
  if (mkdir(old_root.c_str(), 0700) != 0 || syscall(SYS_pivot_root, kBase, old_root.c_str()) != 0 ||
      chdir("/") != 0) {
    FailSetup(SetupStep::kPivotRoot, errno, kBase);
  }
  for (const PlanMount& entry : plan.mounts) Bind(entry);
  if (umount2(kOldRoot, MNT_DETACH) != 0 || rmdir(kOldRoot) != 0) {
    FailSetup(SetupStep::kLeaveOldRoot, errno, kOldRoot);
  }
  MakeScratch("/work", plan);
  MakeScratch("/tmp", plan);
  SetAttributes("/", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0,
                SetupStep::kMakeScratch);
  if (chdir("/work") != 0) FailSetup(SetupStep::kMakeScratch, errno, "/work");
}

int OpenPrivateProc() {
  const int context = fsopen("proc", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  int mount_fd = -1;
  if (fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    mount_fd =
        fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  }
  const int error = errno;
  close(context);
  errno = error;
  return mount_fd;
}

}  // namespace whetstone
