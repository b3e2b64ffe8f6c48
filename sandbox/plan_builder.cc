#include "sandbox/plan_builder.h"

#include <link.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "sandbox/plan/plan.h"
#include "sandbox/seccomp_filter.h"

namespace whetstone {
namespace {

// Links stay links, so a merged /usr looks as it does on the host. There is no /proc, and no /dev
// but null: an endless device would make `#include </dev/zero>` a memory bomb, and no tool chain
// needs one.
constexpr PlanMount kCompileMounts[] = {
    {"/usr", "/usr"},
    {"/lib", "/lib", true},
    {"/lib64", "/lib64", true},
    {"/bin", "/bin", true},
    {"/etc/alternatives", "/etc/alternatives", true},  // Debian's c++, ld
    {"/etc/ld.so.cache", "/etc/ld.so.cache", true},
    {"/dev/null", "/dev/null", false, true},
};
// These are the loader, and the libraries that come with the compiler, one by one: a program that
// may be timed shall not find the fast libraries that somebody installed on this host.
constexpr PlanMount kRunMounts[] = {
    {"/usr/lib64/ld-linux-x86-64.so.2", "/usr/lib64/ld-linux-x86-64.so.2", true},
    {"/lib", "/lib", true},
    {"/lib64", "/lib64", true},
    {"/etc/ld.so.cache", "/etc/ld.so.cache", true},
};
// (Since glibc 2.34 threads and the dynamic linker's functions are part of libc.) Each costs a
// mount, so what only threads need is left out without them.
constexpr const char* kRunLibraries[] = {"ld-linux-x86-64.so.2", "libc.so.6",     "libm.so.6",
                                         "libmvec.so.1",         "libgcc_s.so.1", "libstdc++.so.6"};
constexpr const char* kThreadLibraries[] = {"libgomp.so.1", "libatomic.so.1"};

// Notes the folder where this process has found its own C library: all of them are there.
int FindLibc(dl_phdr_info* info, size_t, void* folder) {
  const absl::string_view name = info->dlpi_name;
  if (!absl::EndsWith(name, "/libc.so.6")) return 0;
  const std::unique_ptr<char, decltype(&free)> real(realpath(info->dlpi_name, nullptr), &free);
  if (real == nullptr) return 0;
  const std::string path = real.get();
  *static_cast<std::string*>(folder) = path.substr(0, path.rfind('/'));
  return 1;
}

using Paths = std::deque<std::pair<std::string, std::string>>;  // source, target

Paths* FindLibraries(const std::vector<const char*>& names) {
  auto* found = new Paths;
  std::string folder;
  dl_iterate_phdr(FindLibc, &folder);
  for (const char* name : names) {
    const std::string target = absl::StrCat(folder, "/", name);
    const std::unique_ptr<char, decltype(&free)> real(realpath(target.c_str(), nullptr), &free);
    if (!folder.empty() && real != nullptr) found->emplace_back(real.get(), target);
  }
  return found;
}

absl::StatusOr<std::vector<PlanMount>> RunMounts(bool threads) {
  static const auto* always = FindLibraries({std::begin(kRunLibraries), std::end(kRunLibraries)});
  static const auto* for_threads =
      FindLibraries({std::begin(kThreadLibraries), std::end(kThreadLibraries)});
  if (always->empty()) {
    return absl::FailedPreconditionError(
        "sandbox: this program was linked without libc.so.6, so that the folder of the libraries "
        "is "
        "unknown; link it dynamically");
  }
  std::vector<PlanMount> mounts(std::begin(kRunMounts), std::end(kRunMounts));
  for (const auto& [source, target] : *always) mounts.push_back({source, target});
  if (threads) {
    for (const auto& [source, target] : *for_threads) mounts.push_back({source, target});
  }
  return mounts;
}

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("sandbox: ", what));
}

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." && !absl::StrContains(name, '/') &&
         !absl::StrContains(name, '\0') && name.size() <= 255;
}

bool IsCleanPath(absl::string_view path) {
  return absl::StartsWith(path, "/") && path.size() > 1 && !absl::StrContains(path, '\0') &&
         !absl::StrContains(absl::StrCat(path, "/"), "/../");
}

absl::Status Check(const SandboxSpec& spec) {
  if (spec.argv.empty() || !absl::StartsWith(spec.argv[0], "/")) {
    return Invalid(absl::StrCat("argv[0] must be an absolute path inside, not '",
                                spec.argv.empty() ? "" : spec.argv[0], "'"));
  }
  for (const auto* texts : {&spec.argv, &spec.env}) {
    for (const std::string& text : *texts) {
      if (absl::StrContains(text, '\0')) return Invalid("argv and env must not hold NUL bytes");
    }
  }
  for (const auto& [name, content] : spec.files) {
    if (!IsPlainName(name)) return Invalid(absl::StrCat("bad file name '", name, "'"));
  }
  for (const std::string& name : spec.collect) {
    if (!IsPlainName(name)) return Invalid(absl::StrCat("bad name to collect '", name, "'"));
  }
  for (const BindMount& bind : spec.binds) {
    if (!IsCleanPath(bind.source) || !IsCleanPath(bind.target)) {
      return Invalid(absl::StrCat("bind of '", bind.source, "' to '", bind.target,
                                  "': both must be absolute, without '..'"));
    }
  }
  const SandboxLimits& limits = spec.limits;
  if (limits.wall.count() <= 0 || limits.cpu.count() <= 0 || limits.memory_bytes_max <= 0 ||
      limits.file_bytes_max < 0 || limits.output_bytes_max < 0 || limits.processes_max < 1) {
    return Invalid("wall, cpu, memory_bytes_max and processes_max must be positive");
  }
  if (limits.files_max < 4 || limits.files_max > kExecFd) {
    return Invalid(absl::StrCat("files_max must be 4 to ", kExecFd, ", not ", limits.files_max));
  }
  std::set<int> targets;
  for (const PassedFd& fd : spec.fds) {
    if (fd.host_fd < 0 || fd.child_fd < 3 || fd.child_fd >= limits.files_max ||
        !targets.insert(fd.child_fd).second) {
      return Invalid(absl::StrCat("passed descriptor ", fd.host_fd, " as ", fd.child_fd,
                                  ": the child's must differ and be 3 to files_max - 1"));
    }
  }
  if (spec.fds.size() > 48) return Invalid("at most 48 descriptors can be passed");
  for (int core : spec.cores) {
    if (core < 0 || core >= CPU_SETSIZE) return Invalid(absl::StrCat("no core ", core));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> BuildPlan(const SandboxSpec& spec, bool privileged) {
  RETURN_IF_ERROR(Check(spec));
  const bool compile = spec.profile == Profile::kCompile;
  const SandboxLimits& limits = spec.limits;
  ASSIGN_OR_RETURN(const std::string filter, SeccompFilter(spec.profile, limits.processes_max > 1));
  Plan plan;
  plan.argv.assign(spec.argv.begin(), spec.argv.end());
  plan.env.assign(spec.env.begin(), spec.env.end());
  if (compile) {
    plan.mounts.assign(std::begin(kCompileMounts), std::end(kCompileMounts));
  } else {
    ASSIGN_OR_RETURN(plan.mounts, RunMounts(limits.processes_max > 1));
  }
  // Links in a bind's own path are followed here, on the host, where they mean what they say.
  std::deque<std::string> sources;
  for (const BindMount& bind : spec.binds) {
    const std::unique_ptr<char, decltype(&free)> real(realpath(bind.source.c_str(), nullptr),
                                                      &free);
    if (real == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("sandbox: bind source ", bind.source, ": ", std::strerror(errno)));
    }
    plan.mounts.push_back({sources.emplace_back(real.get()), bind.target});
  }
  plan.files.assign(spec.files.begin(), spec.files.end());
  plan.collect.assign(spec.collect.begin(), spec.collect.end());
  for (const PassedFd& fd : spec.fds) plan.child_fds.push_back(fd.child_fd);
  plan.cores.assign(spec.cores.begin(), spec.cores.end());
  plan.stdin_text = spec.stdin_text;
  plan.filter = filter;
  plan.wall_ns = std::chrono::nanoseconds(limits.wall).count();
  plan.cpu_ns = std::chrono::nanoseconds(limits.cpu).count();
  plan.memory_bytes = limits.memory_bytes_max;
  plan.file_bytes = limits.file_bytes_max;
  plan.output_bytes = limits.output_bytes_max;
  plan.processes = limits.processes_max;
  plan.open_files = limits.files_max;
  plan.inodes = int64_t{16} * limits.files_max;
  plan.program_id = privileged ? kProgramId : 0;
  plan.writable_work = compile;
  plan.watch_tree = compile;  // In kRun the filter forbids further processes.
  plan.exec_by_fd = !compile;
  return EncodePlan(plan);
}

}  // namespace whetstone
