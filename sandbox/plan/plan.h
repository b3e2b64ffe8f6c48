// What the parent tells the init program, and what the init program answers.
//
// The parent encodes a Plan into a memfd that the init program maps. Answers come over a stream
// socket: one Message for each event of the start, then, when the tree is dead, a ResultHeader and
// the bytes it announces. Both ends are of one build, so the layout needs no versions.
//
// Used by the init program: nothing but the standard library.
#ifndef WHETSTONE_SANDBOX_PLAN_PLAN_H_
#define WHETSTONE_SANDBOX_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/plan/setup_step.h"

namespace whetstone {

// Descriptors of the init program when it starts; passed descriptors follow from kFirstPassedFd.
inline constexpr int kPlanFd = 0;
inline constexpr int kControlFd = 1;
// CPU time account of the tree's control group; the plan again where there is none.
inline constexpr int kCpuAccountFd = 2;
inline constexpr int kFirstPassedFd = 3;
// Where the program's executable is held open for its one execveat (see seccomp_filter.h).
inline constexpr int kExecFd = 1000;

// One entry of the new root. A source that is a symbolic link is made again as the same link.
struct PlanMount {
  std::string_view source;
  std::string_view target;
  bool optional = false;  // skipped when the source does not exist
  bool device = false;    // a device node: not mounted nodev
};

// Views point into the memory given to the encoder or decoder; decoded ones are NUL-terminated.
struct Plan {
  std::vector<std::string_view> argv;
  std::vector<std::string_view> env;
  std::vector<PlanMount> mounts;
  std::vector<std::pair<std::string_view, std::string_view>> files;
  std::vector<std::string_view> collect;
  std::vector<int64_t> child_fds;  // of the passed descriptors, in order
  std::vector<int64_t> cores;
  std::string_view stdin_text;
  std::string_view filter;  // array of sock_filter

  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;
  int64_t memory_bytes = 0;
  int64_t file_bytes = 0;
  int64_t output_bytes = 0;
  int64_t processes = 0;
  int64_t open_files = 0;
  int64_t inodes = 0;
  // Program's uid and gid inside; 0 where only one id can be mapped (unprivileged parent).
  int64_t program_id = 0;
  bool writable_work = false;  // Landlock lets the program write under /work and /tmp
  bool watch_tree = false;     // several processes: sum their memory and CPU time
  bool exec_by_fd = false;     // execute by execveat(kExecFd), the only exec the filter allows
};

// CPU time in a text of cgroup v1's cpuacct.usage ("nanoseconds") or of v2's cpu.stat ("usage_usec
// microseconds …"); -1: the text is neither.
int64_t ParseCgroupCpuNs(std::string_view text);

std::string EncodePlan(const Plan& plan);
// False: the bytes are not a plan.
bool DecodePlan(std::string_view bytes, Plan* plan);

enum class MessageKind : int32_t {
  kSetupFailed = 1,  // step, error, detail
  kStarting = 2,     // sent by the program's own process: its credentials carry its host pid
  kStarted = 3,      // exec succeeded
};

struct Message {
  MessageKind kind = MessageKind::kSetupFailed;
  SetupStep step = SetupStep::kNone;
  int32_t error = 0;
  char detail[116] = {};
};

// How the tree ended. Order and values match SandboxExit.
enum class EndReason : int32_t { kExited, kSignaled, kWallLimit, kCpuLimit, kMemoryLimit };

struct ResultHeader {
  EndReason reason = EndReason::kExited;
  int32_t exit_code = 0;
  int32_t signal = 0;
  int32_t output_truncated = 0;
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;
  int64_t memory_bytes_peak = 0;
  int64_t stdout_bytes = 0;
  int64_t stderr_bytes = 0;
  int64_t file_count = 0;
  // stdout, stderr, then for each file a FileHeader and its bytes.
};

struct FileHeader {
  int64_t collect_index = 0;
  int64_t bytes = 0;
};

// The one byte the parent sends: first it lets the clone go on, later it asks for a kill.
inline constexpr char kGoByte = 'G';
inline constexpr char kKillByte = 'K';

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_PLAN_PLAN_H_
