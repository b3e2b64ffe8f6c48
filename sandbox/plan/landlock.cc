#include "sandbox/plan/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace whetstone {
namespace {

// These are from the kernel's uapi/linux/landlock.h; the distribution's header may be older than
// its kernel.
constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadDir = 1 << 3;
constexpr uint64_t kAllAbi1 = (1 << 13) - 1;
constexpr uint64_t kRefer = 1 << 13;     // ABI 2
constexpr uint64_t kTruncate = 1 << 14;  // ABI 3
constexpr uint64_t kIoctlDev = 1 << 15;  // ABI 5
constexpr uint64_t kMakeChar = 1 << 6;
constexpr uint64_t kMakeSock = 1 << 9;
constexpr uint64_t kMakeBlock = 1 << 11;
constexpr uint64_t kNetBindConnect = 3;  // ABI 4
constexpr uint64_t kScopeAll = 3;        // ABI 6: abstract unix sockets, signals
constexpr int kRulePathBeneath = 1;

struct RulesetAttr {
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;
  uint64_t scoped = 0;
};

struct __attribute__((packed)) PathBeneathAttr {
  uint64_t allowed_access = 0;
  int32_t parent_fd = -1;
};

bool Allow(int ruleset, const char* path, uint64_t access) {
  PathBeneathAttr rule;
  rule.allowed_access = access;
  rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0) return errno == ENOENT;
  const long result = syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0);
  close(rule.parent_fd);
  return result == 0;
}

}  // namespace

int LandlockAbi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1 /* version */);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

bool EnterLandlock(bool writable_work) {
  const int abi = LandlockAbi();
  if (abi == 0) return true;
  RulesetAttr attr;
  attr.handled_access_fs =
      kAllAbi1 | (abi >= 2 ? kRefer : 0) | (abi >= 3 ? kTruncate : 0) | (abi >= 5 ? kIoctlDev : 0);
  if (abi >= 4) attr.handled_access_net = kNetBindConnect;
  if (abi >= 6) attr.scoped = kScopeAll;
  const size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const long ruleset = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
  if (ruleset < 0) return false;
  const int fd = static_cast<int>(ruleset);
  bool ok = Allow(fd, "/", kExecute | kReadFile | kReadDir);
  if (ok && writable_work) {
    const uint64_t access =
        attr.handled_access_fs & ~(kMakeChar | kMakeBlock | kMakeSock | kIoctlDev);
    ok = Allow(fd, "/work", access) && Allow(fd, "/tmp", access) &&
         Allow(fd, "/dev/null", kReadFile | kWriteFile | (attr.handled_access_fs & kTruncate));
  }
  ok = ok && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return ok;
}

}  // namespace whetstone
