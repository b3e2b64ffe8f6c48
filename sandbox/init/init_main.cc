// whet-sandbox is process 1 of a sandbox. It is never started by hand: sandbox.h clones it into
// fresh namespaces, with the plan on descriptor 0 and a control socket on descriptor 1.
//
// Three processes work together: the parent (the worker, outside), this one, and the program. This
// one is process 1 of the pid namespace, so when it ends, for whatever reason, the kernel kills
// everything inside; and it ends when the control socket closes, so when the parent dies,
// everything dies. It starts with all capabilities over its own namespaces and none outside, builds
// the file system view, gives up every right, starts the program with still fewer, and then only
// watches. It is static, small and single-threaded: quick to execute, and nothing of the parent's
// memory is in it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/unique_fd.h"
#include "sandbox/init/confine.h"
#include "sandbox/init/mounts.h"
#include "sandbox/init/report.h"
#include "sandbox/init/supervise.h"
#include "sandbox/init/work_files.h"
#include "sandbox/plan/plan.h"

namespace whetstone {
namespace {

Plan ReadPlan() {
  struct stat info = {};
  if (fstat(kPlanFd, &info) != 0) FailSetup(SetupStep::kReadPlan, errno, "fstat");
  const auto size = static_cast<size_t>(info.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kPlanFd, 0);
  if (bytes == MAP_FAILED) FailSetup(SetupStep::kReadPlan, errno, "mmap");
  Plan plan;
  if (!DecodePlan(std::string_view(static_cast<const char*>(bytes), size), &plan) ||
      plan.argv.empty()) {
    FailSetup(SetupStep::kReadPlan, EPROTO, "decode");
  }
  return plan;
}

// Makes the program go first should the host run out of memory. This is best effort: it needs the
// host's /proc.
void VolunteerForOomKiller() {
  const UniqueFd fd(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) return;
  [[maybe_unused]] const ssize_t wrote = write(fd.get(), "1000", 4);
}

void MakePipe(int* read_end, int* write_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) FailSetup(SetupStep::kPipes, errno, "");
  *read_end = fds[0];
  *write_end = fds[1];
}

void MakeNonBlocking(int fd) { fcntl(fd, F_SETFL, O_NONBLOCK); }

int Main() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const Plan plan = ReadPlan();
  setsid();
  umask(022);
  VolunteerForOomKiller();
  int proc_fd = -1;
  if (plan.watch_tree) {
    proc_fd = OpenPrivateProc();
    if (proc_fd < 0) FailSetup(SetupStep::kMountProc, errno, "");
  }
  BuildRoot(plan);
  if (sethostname("sandbox", 7) != 0) FailSetup(SetupStep::kHostName, errno, "");
  DropPrivileges(plan);
  WriteWorkFiles(plan);

  ProgramPipes program_pipes;
  InitPipes init_pipes;
  MakePipe(&program_pipes.stdin_read, &init_pipes.stdin_write);
  MakePipe(&init_pipes.stdout_read, &program_pipes.stdout_write);
  MakePipe(&init_pipes.stderr_read, &program_pipes.stderr_write);
  for (int fd : {init_pipes.stdin_write, init_pipes.stdout_read, init_pipes.stderr_read}) {
    MakeNonBlocking(fd);
  }
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  const int child_signals = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
  if (child_signals < 0) FailSetup(SetupStep::kPipes, errno, "signalfd");

  const pid_t program = StartProgram(plan, program_pipes);
  for (int fd :
       {program_pipes.stdin_read, program_pipes.stdout_write, program_pipes.stderr_write}) {
    close(fd);
  }
  for (size_t i = 0; i < plan.child_fds.size(); ++i) close(kFirstPassedFd + static_cast<int>(i));
  Message started;
  started.kind = MessageKind::kStarted;
  SendOrDie(&started, sizeof(started));

  Supervised result = Supervise(plan, program, init_pipes, child_signals, proc_fd);
  std::vector<CollectedFile> files;
  if (result.header.reason == EndReason::kExited && result.header.exit_code == 0) {
    files = CollectWorkFiles(plan);
  }
  result.header.file_count = static_cast<int64_t>(files.size());
  SendOrDie(&result.header, sizeof(result.header));
  SendOrDie(result.stdout_text.data(), result.stdout_text.size());
  SendOrDie(result.stderr_text.data(), result.stderr_text.size());
  for (const CollectedFile& file : files) {
    const FileHeader header = {file.collect_index, static_cast<int64_t>(file.content.size())};
    SendOrDie(&header, sizeof(header));
    SendOrDie(file.content.data(), file.content.size());
  }
  return 0;
}

}  // namespace
}  // namespace whetstone

int main() { _exit(whetstone::Main()); }
