#include "cpu_bench_worker/verdict/failure.h"

#include <csignal>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cpu_bench_worker/shared_memory/mailbox.h"

namespace whetstone {
namespace {

Failure DescribeEnd(const SandboxResult& result, const std::string& doing) {
  // These are libstdc++'s words when an exception leaves a function; the allocator throws where a
  // limit bites.
  if (result.exit == SandboxExit::kSignaled && result.signal == SIGABRT &&
      absl::StrContains(result.stderr_text, "bad_alloc"))
    return {v1::MEMORY_LIMIT, absl::StrCat("ran out of its memory limit while ", doing)};
  switch (result.exit) {
    case SandboxExit::kMemoryLimit:
      return {v1::MEMORY_LIMIT, absl::StrCat("exceeded its memory limit while ", doing)};
    case SandboxExit::kWallLimit:
    case SandboxExit::kCpuLimit:
      return {v1::TIMEOUT, absl::StrCat("ran out of time while ", doing)};
    case SandboxExit::kOutputLimit:
      return {v1::FORBIDDEN, absl::StrCat("wrote a file while ", doing)};
    case SandboxExit::kSignaled: {
      if (result.signal == SIGSYS)
        return {v1::FORBIDDEN, absl::StrCat("made a forbidden system call while ", doing)};
      const char* name = sigabbrev_np(result.signal);
      const char* hint = result.signal == SIGSEGV || result.signal == SIGBUS
                             ? " (memory that is not its own, or writing to an input)"
                             : "";
      return {v1::CRASH, absl::StrCat("crashed with SIG", name == nullptr ? "?" : name, hint,
                                      " while ", doing)};
    }
    case SandboxExit::kExited:
      break;
  }
  if (result.exit_code == kKernelExitSetup || result.exit_code == kKernelExitLoad)
    return {v1::CRASH, absl::StrCat("could not be loaded: ", result.stderr_text.substr(0, 200))};
  return {v1::CRASH,
          absl::StrCat("ended by itself with exit code ", result.exit_code, " while ", doing)};
}

}  // namespace

Failure OurFault(const absl::Status& status) {
  return {v1::INFRASTRUCTURE_ERROR, std::string(status.message()), absl::IsInvalidArgument(status)};
}

absl::Status OurStatus(const absl::Status& status) {
  return status.ok() ? status : absl::UnavailableError(status.message());
}

absl::Status ProblemStatus(bool hosts, const std::string& text) {
  return hosts ? absl::UnavailableError(text) : absl::InvalidArgumentError(text);
}

bool MayBeTheHosts(const SandboxResult& result) {
  switch (result.exit) {
    case SandboxExit::kSignaled:
      return result.signal == SIGKILL || result.signal == SIGTERM;
    case SandboxExit::kExited:  // g++ and clang++ say so of the programs that they start
      return result.exit_code != 0 &&
             (absl::StrContains(result.stderr_text, "Killed signal terminated program") ||
              absl::StrContains(result.stderr_text, "unable to execute command: Killed"));
    default:
      return false;
  }
}

Failure FailureOfEnd(const SandboxResult& result, const std::string& doing) {
  Failure failure = DescribeEnd(result, doing);
  failure.hosts = MayBeTheHosts(result);
  return failure;
}

}  // namespace whetstone
