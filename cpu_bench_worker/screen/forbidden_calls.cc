#include "cpu_bench_worker/screen/forbidden_calls.h"

#include <cstring>
#include <map>

namespace whetstone {
namespace {

constexpr char kClock[] = "reads the clock";
constexpr char kProcess[] = "reaches outside the program";
constexpr char kMemory[] = "changes the process's memory map";
constexpr char kExit[] = "leaves the program";
constexpr char kSleep[] = "sleeps";
constexpr char kRounding[] = "changes how the processor rounds";
constexpr char kStack[] = "reads or changes the caller's frame";
constexpr char kThreads[] = "starts threads, which this problem does not allow";

const std::map<std::string, const char*>& Functions() {
  static const auto* table = new std::map<std::string, const char*>([] {
    std::map<std::string, const char*> t;
    const auto add = [&t](const char* why, std::initializer_list<const char*> names) {
      for (const char* name : names) t[name] = why;
    };
    add(kClock, {"clock_gettime", "gettimeofday", "time", "clock", "timespec_get", "times",
                 "__rdtsc", "_rdtsc", "__rdtscp", "__builtin_ia32_rdtsc", "__builtin_ia32_rdtscp",
                 "__builtin_readcyclecounter", "__builtin_ia32_rdpmc", "_rdpmc", "__rdpmc"});
    add(kProcess, {"system",
                   "popen",
                   "fork",
                   "vfork",
                   "clone",
                   "execve",
                   "execv",
                   "execvp",
                   "execl",
                   "execlp",
                   "execle",
                   "posix_spawn",
                   "posix_spawnp",
                   "syscall",
                   "kill",
                   "raise",
                   "signal",
                   "sigaction",
                   "sigprocmask",
                   "ptrace",
                   "prctl",
                   "getenv",
                   "setenv",
                   "putenv",
                   "dlopen",
                   "dlsym",
                   "dlclose",
                   "open",
                   "openat",
                   "creat",
                   "fopen",
                   "freopen",
                   "tmpfile",
                   "remove",
                   "rename",
                   "unlink",
                   "socket",
                   "connect",
                   "bind",
                   "read",
                   "write",
                   "pread",
                   "pwrite",
                   "ioctl",
                   "sched_setaffinity",
                   "sched_setscheduler",
                   "setpriority",
                   "nice",
                   "getpid",
                   "getppid",
                   "gettid",
                   "getrusage",
                   "getloadavg",
                   "getcwd",
                   "getrandom",
                   "getentropy",
                   "arc4random",
                   "arc4random_buf",
                   "arc4random_uniform",
                   "sysconf",
                   "realpath",
                   "readlink",
                   "access",
                   "stat",
                   "lstat",
                   "fstat",
                   "opendir",
                   "fdopen",
                   "dup",
                   "dup2",
                   "pipe",
                   "wait",
                   "waitpid",
                   "alarm",
                   "setitimer",
                   "timer_create",
                   "memfd_create",
                   "shm_open",
                   "shmget",
                   "shmat"});
    add(kSleep, {"sleep",
                 "usleep",
                 "nanosleep",
                 "clock_nanosleep",
                 "thrd_sleep",
                 "pause",
                 "select",
                 "pselect",
                 "poll",
                 "ppoll",
                 "epoll_wait",
                 "sigsuspend",
                 "sigwait",
                 "sigtimedwait",
                 "sem_timedwait",
                 "cnd_timedwait",
                 "mtx_timedlock",
                 "pthread_cond_timedwait",
                 "pthread_mutex_timedlock",
                 "sched_yield",
                 "pthread_yield",
                 "thrd_yield"});
    add(kRounding, {"_mm_setcsr", "__builtin_ia32_ldmxcsr", "fesetround", "fesetenv", "feupdateenv",
                    "feholdexcept", "fesetmode"});
    add(kMemory, {"mmap", "munmap", "mprotect", "mremap", "madvise", "mlock", "brk", "sbrk"});
    add(kExit,
        {"exit", "_exit", "_Exit", "quick_exit", "abort", "atexit", "on_exit", "at_quick_exit",
         "pthread_exit", "longjmp", "siglongjmp", "setjmp", "_setjmp", "sigsetjmp"});
    add(kStack, {"__builtin_return_address", "__builtin_frame_address", "__builtin_setjmp",
                 "__builtin_longjmp", "__builtin_apply", "__builtin_apply_args",
                 "__builtin_extract_return_addr", "backtrace"});
    return t;
  }());
  return *table;
}

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

}  // namespace

std::string ForbiddenCall(const std::string& qualified, const ScreenRules& rules) {
  std::string name = qualified;
  if (StartsWith(name, "std::chrono::") && name.size() > 5 &&
      name.compare(name.size() - 5, 5, "::now") == 0)
    return kClock;
  if (StartsWith(name, "std::filesystem::") || StartsWith(name, "std::this_thread::"))
    return kProcess;
  const auto ends_with = [&name](const char* end) {
    const size_t length = std::strlen(end);
    return name.size() > length && name.compare(name.size() - length, length, end) == 0;
  };
  // try_lock_for, wait_until, try_acquire_for …
  if (StartsWith(name, "std::") && (ends_with("_for") || ends_with("_until"))) return kSleep;
  const bool threads = rules.allows("threads") && rules.threads > 1;
  if (!threads && (name == "std::async" || StartsWith(name, "pthread_create") ||
                   StartsWith(name, "omp_set_num_threads") || name == "thrd_create"))
    return kThreads;
  if (StartsWith(name, "std::")) name = name.substr(5);
  if (name.find("::") != std::string::npos) return "";
  const auto found = Functions().find(name);
  return found == Functions().end() ? "" : found->second;
}

std::string ForbiddenClass(const std::string& qualified, const ScreenRules& rules) {
  const bool threads = rules.allows("threads") && rules.threads > 1;
  if (!threads && (qualified == "std::thread" || qualified == "std::jthread")) return kThreads;
  if (qualified == "std::random_device" || StartsWith(qualified, "std::basic_ofstream") ||
      StartsWith(qualified, "std::basic_ifstream") || StartsWith(qualified, "std::basic_fstream"))
    return kProcess;
  return "";
}

}  // namespace whetstone
