// The numbered steps between clone and exec.
//
// In a half-built sandbox nothing can be printed or logged, so a failing step sends its number and
// errno to the parent, which turns them into an absl::Status that names the step and what to do.
// Used by the library and by the init program: no dependency but the standard library.
#ifndef WHETSTONE_SANDBOX_PLAN_SETUP_STEP_H_
#define WHETSTONE_SANDBOX_PLAN_SETUP_STEP_H_

#include <cstdint>
#include <string>

namespace whetstone {

enum class SetupStep : int32_t {
  kNone = 0,
  // These are taken in the parent, or in the clone before it executes the init program.
  kPlan = 1,
  kClone = 2,
  kMapUsers = 3,
  kMoveDescriptors = 4,
  kExecInit = 5,
  // These are taken in the init program, process 1 of the new namespaces.
  kReadPlan = 10,
  kMakeMountsPrivate = 11,
  kMountRoot = 12,
  kPivotRoot = 13,
  kBind = 14,
  kLeaveOldRoot = 15,
  kMakeScratch = 16,
  kMountProc = 17,
  kHostName = 18,
  kDropPrivileges = 19,
  kWriteFiles = 20,
  kPipes = 21,
  kFork = 22,
  // These are taken in the process that becomes the program.
  kOpenProgram = 30,
  kPassDescriptors = 31,
  kAffinity = 32,
  kResourceLimits = 33,
  kLandlock = 34,
  kReportStart = 35,
  kSeccomp = 36,
  kExecProgram = 37,
};

// "sandbox step 14 (bind /opt/tool): No such file or directory; check that …".
std::string DescribeSetupFailure(SetupStep step, int error, const std::string& detail);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_PLAN_SETUP_STEP_H_
