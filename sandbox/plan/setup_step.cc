#include "sandbox/plan/setup_step.h"

#include <cerrno>
#include <cstring>

namespace whetstone {
namespace {

struct StepText {
  SetupStep step;
  const char* name;
  const char* advice;  // It may be empty.
};

constexpr StepText kSteps[] = {
    {SetupStep::kPlan, "prepare", "check the specification"},
    {SetupStep::kClone, "create namespaces",
     "allow user namespaces: sysctl user.max_user_namespaces=10000, and where they exist "
     "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0"},
    {SetupStep::kMapUsers, "map user ids",
     "root needs CAP_SETUID, CAP_SETGID and CAP_SETFCAP; in a container grant them or run as a "
     "plain user"},
    {SetupStep::kMoveDescriptors, "move descriptors",
     "is a passed descriptor open? else raise the limit of open files (ulimit -n)"},
    {SetupStep::kExecInit, "execute whet-sandbox", "build or install whet-sandbox again"},
    {SetupStep::kReadPlan, "read the plan", "whet-sandbox and the library must be of one build"},
    {SetupStep::kMakeMountsPrivate, "make mounts private",
     "the container's security profile must allow mount()"},
    {SetupStep::kMountRoot, "mount the new root",
     "the container's security profile must allow mount()"},
    {SetupStep::kPivotRoot, "pivot_root", "the container's security profile must allow it"},
    {SetupStep::kBind, "bind", "check that the source exists and is readable"},
    {SetupStep::kLeaveOldRoot, "leave the old root", ""},
    {SetupStep::kMakeScratch, "make /work and /tmp", ""},
    {SetupStep::kMountProc, "mount a private /proc for the watchdog",
     "the container masks parts of /proc; unmask them (docker: systempaths=unconfined)"},
    {SetupStep::kHostName, "set the host name", ""},
    {SetupStep::kDropPrivileges, "drop privileges", ""},
    {SetupStep::kWriteFiles, "write the given files into /work",
     "a name holds '/', or raise file_bytes_max"},
    {SetupStep::kPipes, "make pipes", "raise the limit of open files (ulimit -n)"},
    {SetupStep::kFork, "fork", ""},
    {SetupStep::kOpenProgram, "open the program",
     "argv[0] must be an absolute path that exists inside the sandbox: bind it"},
    {SetupStep::kPassDescriptors, "pass descriptors", "check child_fd against files_max"},
    {SetupStep::kAffinity, "pin to cores", "the cores must be in this process's own CPU set"},
    {SetupStep::kResourceLimits, "set resource limits", "the limit exceeds this process's own"},
    {SetupStep::kLandlock, "Landlock", ""},
    {SetupStep::kReportStart, "report the start", ""},
    {SetupStep::kSeccomp, "load the seccomp filter",
     "the kernel needs CONFIG_SECCOMP_FILTER, and a container must allow seccomp()"},
    {SetupStep::kExecProgram, "execute the program",
     "is it executable, are its loader and libraries bound, is memory_bytes_max large enough?"},
};

}  // namespace

std::string DescribeSetupFailure(SetupStep step, int error, const std::string& detail) {
  std::string text = "sandbox step " + std::to_string(static_cast<int>(step));
  for (const StepText& entry : kSteps) {
    if (entry.step != step) continue;
    text += std::string(" (") + entry.name + (detail.empty() ? "" : " ") + detail +
            "): " + std::strerror(error);
    if (*entry.advice != '\0') text += std::string("; ") + entry.advice;
    return text;
  }
  return text + " (" + detail + "): " + std::strerror(error);
}

}  // namespace whetstone
