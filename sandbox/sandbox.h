// Runs one untrusted program in namespaces of its own and says, in one typed result, how it ended.
//
// Isolation: user, mount, pid, net, ipc and uts namespaces; pivot_root into an empty tmpfs with
// read-only binds; a seccomp allow-list; Landlock; rlimits; cgroups where the host has them. Works
// as root and, through user namespaces, without. What is in force is reported, never assumed.
//
//   SandboxSpec spec;
//   spec.argv = {"/usr/bin/g++", "-c", "candidate.cc"};
//   spec.profile = Profile::kCompile;
//   spec.files = {{"candidate.cc", source}};
//   spec.collect = {"candidate.o"};
//   absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
//
// Errors (absl::Status) are ours: the sandbox could not be set up, and the message names the step.
// Whatever the program does is a SandboxResult. All functions are thread-safe; a SandboxProcess
// belongs to one thread at a time.
#ifndef WHETSTONE_SANDBOX_SANDBOX_H_
#define WHETSTONE_SANDBOX_SANDBOX_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace whetstone {

// Which system calls and file system view the program gets. Neither has a /proc (so a loader finds
// no $ORIGIN), a network, or a device but kCompile's /dev/null.
enum class Profile {
  // Compiler tool chain: fork, exec, files under /work and /tmp, poll, sendmsg and recvmsg on
  // passed descriptors; reads /usr and the given binds. An attacker's calls kill (SIGSYS), unknown
  // ones answer EPERM. Memory and CPU time are limited for the whole tree.
  kCompile,
  // One kernel process: compute, futex, read and write on passed descriptors, reads the libraries
  // of C, C++ and threads, /work and the given binds; writes no file. Every other call kills the
  // process with SIGSYS. Threads only if processes_max > 1, never processes.
  kRun,
};

struct SandboxLimits {
  std::chrono::milliseconds wall{10'000};
  std::chrono::milliseconds cpu{10'000};  // of all threads and processes together
  // Address space of each process; kCompile: resident memory of the whole tree too.
  int64_t memory_bytes_max = int64_t{512} << 20;
  int64_t file_bytes_max = int64_t{64} << 20;    // each file, and the whole of /work and /tmp
  int64_t output_bytes_max = int64_t{64} << 10;  // each of stdout and stderr; the rest is dropped
  int processes_max = 64;                        // threads count too
  int files_max = 256;                           // descriptors; inodes of /work are 16 times that
};

struct BindMount {
  std::string source;  // absolute, on the host
  std::string target;  // absolute, inside; always read-only
};

// Descriptor `host_fd` becomes descriptor `child_fd` (3 or above) of the program. Borrowed.
struct PassedFd {
  int host_fd = -1;
  int child_fd = -1;
};

struct SandboxSpec {
  std::vector<std::string> argv;  // argv[0]: absolute path inside
  std::vector<std::string> env;   // "NAME=value"; nothing is inherited
  Profile profile = Profile::kRun;
  SandboxLimits limits;
  std::vector<BindMount> binds;  // beside the profile's own
  std::map<std::string, std::string>
      files;                         // name in /work (no '/') → content, written before start
  std::vector<std::string> collect;  // names in /work copied out after a clean exit
  std::vector<PassedFd> fds;         // everything else is closed
  std::vector<int> cores;            // CPU affinity; empty: inherited
  std::string stdin_text;
};

enum class SandboxExit {
  kExited,    // `exit_code`
  kSignaled,  // `signal`: a crash, or SIGSYS for a forbidden system call
  kWallLimit,
  kCpuLimit,
  // The tree's sum passed the limit, or it crashed with its memory all but used up. A program whose
  // allocation fails and that copes or exits is kExited.
  kMemoryLimit,
  kOutputLimit,  // files grew beyond file_bytes_max (SIGXFSZ)
};

struct SandboxResult {
  SandboxExit exit = SandboxExit::kExited;
  int exit_code = 0;
  int signal = 0;
  std::string stdout_text;  // truncated at output_bytes_max
  std::string stderr_text;
  bool output_truncated = false;
  std::map<std::string, std::string> files;  // `collect`ed regular files; links are never followed
  std::chrono::nanoseconds wall{0};
  // With a control group (cgroup.h) both are the whole tree's, the init program included.
  std::chrono::nanoseconds cpu{0};
  int64_t memory_bytes_peak = 0;
};

// What protects the host on this machine. `summary` is the string of Verdict.isolation, for example
// "userns,mount,pid,net,ipc,uts,seccomp,landlock:7,rlimits,cgroup:v1(memory,pids,cpu)".
struct Isolation {
  // Each includes those before it. The first is mandatory; kCgroups: with limits on memory and
  // processes.
  enum class Level { kNamespaces, kLandlock, kCgroups };
  Level level = Level::kNamespaces;
  std::string summary;
  std::vector<std::string> missing;  // one line each: what, and the command that would add it
};

// A running program. Destruction kills its whole process tree and waits for it.
class SandboxProcess {
 public:
  virtual ~SandboxProcess() = default;
  // The program's pid as the host sees it: for /proc/PID/{stat,schedstat,task}.
  virtual pid_t pid() const = 0;
  // True until it ended; never blocks.
  virtual bool Running() = 0;
  // Kills the whole tree; Wait then reports kSignaled/SIGKILL unless it had ended before.
  virtual void Kill() = 0;
  // Blocks until the program ends or a limit ends it. May be called once.
  virtual absl::StatusOr<SandboxResult> Wait() = 0;
};

class Sandbox {
 public:
  // Returns once the program has been executed; limits count from here. INVALID_ARGUMENT: the
  // specification (a missing program, bind or descriptor); FAILED_PRECONDITION: this host forbids a
  // step; RESOURCE_EXHAUSTED: worth trying again. The program dies with this process, however it
  // ends, but not with the calling thread.
  static absl::StatusOr<std::unique_ptr<SandboxProcess>> Start(const SandboxSpec& spec);
  // Calls Start, then Wait.
  static absl::StatusOr<SandboxResult> Run(const SandboxSpec& spec);
  // Tries every mechanism once and caches the answer.
  static absl::StatusOr<Isolation> Probe();
};

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_SANDBOX_H_
