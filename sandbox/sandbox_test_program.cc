// The inmate of sandbox_test does one thing a program might do, named by its first argument. It
// prints what it found; exit code 0 means "I could do it", 1 "it was refused" (with errno printed).
//
// Over 400 lines: this is one flat list of acts that know nothing of each other, and the table that
// names them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Args = std::vector<std::string>;

int Report(bool could) {
  if (!could) std::printf("refused: %s\n", std::strerror(errno));
  return could ? 0 : 1;
}

int64_t Number(const Args& args, size_t i) { return args.size() > i ? std::stoll(args[i]) : 0; }

[[noreturn]] void Spin() {
  for (;;) {
    __asm__ volatile("");  // A loop without effects is undefined.
  }
}

void* SpinThread(void*) { Spin(); }
void* SleepThread(void*) {
  sleep(60);
  return nullptr;
}

int TouchMemory(const Args& args) {
  const int64_t step = 1 << 20;
  for (int64_t done = 0; done < Number(args, 1); done += step) {
    void* block = mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return Report(false);
    std::memset(block, 1, step);
  }
  return 0;
}

// Lets each child touch `args[2]` bytes and sleep, which is below every limit of a single process.
int TouchInChildren(const Args& args) {
  for (int64_t i = 0; i < Number(args, 1); ++i) {
    if (fork() == 0) {
      TouchMemory({"", args[2]});
      sleep(60);
      _exit(0);
    }
  }
  sleep(60);
  return 0;
}

// Burns `args[1]` milliseconds in children that nobody waits for.
int SpinInForgottenChildren(const Args& args) {
  signal(SIGCHLD, SIG_IGN);
  for (int64_t burnt = 0; burnt < Number(args, 1); burnt += 50) {
    const pid_t pid = fork();
    if (pid == 0) {
      const clock_t until = clock() + 50 * CLOCKS_PER_SEC / 1000;
      while (clock() < until) {
      }
      _exit(0);
    }
    while (kill(pid, 0) == 0) usleep(1000);
  }
  return 0;
}

int ForkBomb(const Args&) {
  int made = 0;
  for (int i = 0; i < 5000; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      sleep(60);
      _exit(0);
    }
    if (pid > 0) ++made;
  }
  std::printf("%d\n", made);
  return 0;
}

int ForkForever(const Args&) {
  for (;;) fork();
}

int ThreadBomb(const Args&) {
  int made = 0;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 64 << 10);
  for (int i = 0; i < 1000; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attr, SleepThread, nullptr) == 0) ++made;
  }
  std::printf("%d\n", made);
  return 0;
}

int SpinInThreads(const Args& args) {
  for (int64_t i = 1; i < Number(args, 1); ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, SpinThread, nullptr);
  }
  Spin();
}

int SpinInChildren(const Args& args) {
  for (int64_t i = 1; i < Number(args, 1); ++i) {
    if (fork() == 0) Spin();
  }
  Spin();
}

int Flood(const Args& args) {
  const std::string block(65536, 'x');
  for (int64_t left = Number(args, 1); left > 0; left -= static_cast<int64_t>(block.size())) {
    if (write(1, block.data(), block.size()) < 0) return 1;
    if (args.size() > 2 && write(2, block.data(), block.size()) < 0) return 1;
  }
  return 0;
}

int GrowFile(const Args& args) {
  const int fd = open("big", O_WRONLY | O_CREAT, 0644);
  const std::string block(65536, 'x');
  for (int64_t left = Number(args, 1); left > 0; left -= static_cast<int64_t>(block.size())) {
    if (write(fd, block.data(), block.size()) < 0) return Report(false);
  }
  return 0;
}

int ManySmallFiles(const Args& args) {
  int made = 0;
  for (int i = 0; i < Number(args, 1); ++i) {
    const int fd = open(("f" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0644);
    if (fd >= 0) ++made;
    close(fd);
  }
  std::printf("%d\n", made);
  return 0;
}

// Makes a terabyte that nobody wrote; the second argument chooses how.
int SparseFile(const Args& args) {
  const int fd = open("sparse", O_RDWR | O_CREAT, 0644);
  const off_t size = off_t{1} << 40;
  if (args[1] == "fallocate") return Report(fallocate(fd, 0, 0, size) == 0);
  return Report(ftruncate(fd, size) == 0);
}

// Fills every pipe it can make; prints the bytes, which no resident set shows.
int FillPipes(const Args&) {
  const std::string block(1 << 20, 'x');
  int64_t bytes = 0;
  int pair[2];
  while (pipe2(pair, O_NONBLOCK) == 0) {
    fcntl(pair[1], F_SETPIPE_SZ, 1 << 20);
    for (ssize_t wrote; (wrote = write(pair[1], block.data(), block.size())) > 0;) bytes += wrote;
  }
  std::printf("%lld\n", static_cast<long long>(bytes));
  std::fflush(stdout);
  sleep(1);
  return 0;
}

// Leaves a daemon that swaps "out" with a link to "given" for ever.
int SwapForEver(const Args&) {
  const int fd = open("out", O_WRONLY | O_CREAT, 0644);
  if (fd < 0 || symlink("/work/given", "link") != 0) return Report(false);
  close(fd);
  if (fork() == 0) {
    setsid();
    for (;;) syscall(SYS_renameat2, AT_FDCWD, "out", AT_FDCWD, "link", 2 /* RENAME_EXCHANGE */);
  }
  usleep(20'000);
  return 0;
}

int DeepTree(const Args&) {
  int depth = 0;
  while (mkdir("d", 0755) == 0 && chdir("d") == 0) ++depth;
  std::printf("%d\n", depth);
  return 0;
}

int OpenManyFiles(const Args&) {
  int made = 0;
  while (open("/work", O_RDONLY) >= 0) ++made;
  std::printf("%d\n", made);
  return 0;
}

int ListDescriptors(const Args&) {
  for (int fd = 0; fd < 4096; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) std::printf("%d ", fd);
  }
  return 0;
}

// Leaves a grandchild in a session of its own that outlives its parents and keeps `args[1]` open.
int Daemonise(const Args&) {
  if (fork() == 0) {
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (fork() == 0) {
      sleep(600);
      _exit(0);
    }
    _exit(0);
  }
  wait(nullptr);
  return 0;
}

int ReadPath(const Args& args) {
  const int fd = open(args[1].c_str(), O_RDONLY);
  if (fd < 0) return Report(false);
  char buffer[4096];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
    if (write(1, buffer, static_cast<size_t>(got)) < 0) return 1;
  }
  return 0;
}

int CopyStdin(const Args&) {
  char buffer[4096];
  ssize_t got;
  while ((got = read(0, buffer, sizeof(buffer))) > 0) {
    if (write(1, buffer, static_cast<size_t>(got)) < 0) return 1;
  }
  return 0;
}

int Socket(const Args& args) {
  const int family = static_cast<int>(Number(args, 1));
  return Report(socket(family, family == AF_INET ? SOCK_STREAM : SOCK_DGRAM, 0) >= 0);
}

int WriteFd(const Args& args) {
  return Report(write(static_cast<int>(Number(args, 1)), "hello", 5) == 5);
}

// A shared mapping that was passed read-only must not become writable.
int MapWritable(const Args& args) {
  const int fd = static_cast<int>(Number(args, 1));
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return 2;
  if (mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0) return 0;
  return Report(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
}

int Int80GetPid(const Args&) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
  std::printf("%d\n", result);
  return 0;
}

int X32GetPid(const Args&) {
  std::printf("%ld\n", syscall(0x40000000 + SYS_getpid));
  return 0;
}

int Limits(const Args&) {
  for (auto resource : {RLIMIT_AS, RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_NOFILE}) {
    rlimit limit = {};
    getrlimit(resource, &limit);
    std::printf("%lu ", limit.rlim_max);
  }
  return 0;
}

int Identity(const Args&) {
  std::printf("pid %d uid %d\n", getpid(), getuid());
  return 0;
}

__attribute__((noinline)) int Recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  if (depth < 0) return 0;
  return Recurse(depth + 1) + frame[0];
}

const std::map<std::string, std::function<int(const Args&)>> kActs = {
    {"exit", [](const Args& args) { return static_cast<int>(Number(args, 1)); }},
    {"abort", [](const Args&) -> int { abort(); }},
    {"raise", [](const Args& args) { return raise(static_cast<int>(Number(args, 1))); }},
    {"segv", [](const Args&) { return *static_cast<volatile int*>(nullptr); }},
    {"recurse", [](const Args&) { return Recurse(0); }},
    {"sleep",
     [](const Args& args) {
       return static_cast<int>(sleep(static_cast<unsigned>(Number(args, 1))));
     }},
    {"spin", [](const Args&) -> int { Spin(); }},
    {"spin_threads", SpinInThreads},
    {"spin_children", SpinInChildren},
    {"spin_forgotten", SpinInForgottenChildren},
    {"touch", TouchMemory},
    {"touch_children", TouchInChildren},
    {"fork", [](const Args&) { return Report(fork() >= 0); }},
    {"fork_bomb", ForkBomb},
    {"fork_forever", ForkForever},
    {"thread_bomb", ThreadBomb},
    {"flood", Flood},
    {"grow", GrowFile},
    {"many_files", ManySmallFiles},
    {"sparse", SparseFile},
    {"fill_pipes", FillPipes},
    {"swap", SwapForEver},
    {"deep_tree", DeepTree},
    {"open_many", OpenManyFiles},
    {"fds", ListDescriptors},
    {"daemonise", Daemonise},
    {"read", ReadPath},
    {"stdin", CopyStdin},
    {"socket", Socket},
    {"write_fd", WriteFd},
    {"map_writable", MapWritable},
    {"int80", Int80GetPid},
    {"x32", X32GetPid},
    {"limits", Limits},
    {"identity", Identity},
    {"symlink",
     [](const Args& args) { return Report(symlink(args[1].c_str(), args[2].c_str()) == 0); }},
    {"link", [](const Args& args) { return Report(link(args[1].c_str(), args[2].c_str()) == 0); }},
    {"fifo", [](const Args& args) { return Report(mkfifo(args[1].c_str(), 0644) == 0); }},
    {"mkdir", [](const Args& args) { return Report(mkdir(args[1].c_str(), 0755) == 0); }},
    {"write",
     [](const Args& args) { return Report(open(args[1].c_str(), O_WRONLY | O_CREAT, 0644) >= 0); }},
    {"ptrace",
     [](const Args&) { return Report(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0); }},
    {"vm_writev",
     [](const Args&) {
       return Report(syscall(SYS_process_vm_writev, 1, nullptr, 0, nullptr, 0, 0) == 0);
     }},
    {"mount", [](const Args&) { return Report(mount("x", "/tmp", "tmpfs", 0, nullptr) == 0); }},
    {"unshare", [](const Args&) { return Report(unshare(CLONE_NEWUSER) == 0); }},
    {"bpf", [](const Args&) { return Report(syscall(SYS_bpf, 0, nullptr, 0) == 0); }},
    {"io_uring",
     [](const Args&) {
       io_uring_params p = {};
       return Report(syscall(SYS_io_uring_setup, 1, &p) >= 0);
     }},
    {"keyctl", [](const Args&) { return Report(syscall(SYS_keyctl, 0, -3, 1) >= 0); }},
    {"userfaultfd", [](const Args&) { return Report(syscall(SYS_userfaultfd, 0) >= 0); }},
    {"perf",
     [](const Args&) { return Report(syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0); }},
    {"memfd", [](const Args&) { return Report(syscall(SYS_memfd_create, "x", 0) >= 0); }},
    {"shmget", [](const Args&) { return Report(syscall(SYS_shmget, 0, 4096, 0600) >= 0); }},
    {"setaffinity",
     [](const Args&) {
       cpu_set_t set;
       CPU_ZERO(&set);
       CPU_SET(0, &set);
       return Report(sched_setaffinity(0, sizeof(set), &set) == 0);
     }},
    {"setuid", [](const Args&) { return Report(setuid(0) == 0); }},
    {"kill_all",
     [](const Args&) {
       kill(-1, SIGKILL);
       return Report(kill(1, SIGKILL) == 0);
     }},
    {"exec",
     [](const Args& args) {
       execl(args[1].c_str(), args[1].c_str(), nullptr);
       return Report(false);
     }},
    {"pageout",
     [](const Args& args) {
       void* page =
           mmap(nullptr, 4096, PROT_READ, MAP_SHARED, static_cast<int>(Number(args, 1)), 0);
       if (page == MAP_FAILED) return 2;
       return Report(madvise(page, 4096, MADV_PAGEOUT) == 0);
     }},
    {"mlock",
     [](const Args&) {
       static char page[8192];
       return Report(mlock(page, sizeof(page)) == 0);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const Args args(argv + 1, argv + argc);
  const auto act = args.empty() ? kActs.end() : kActs.find(args[0]);
  if (act == kActs.end()) return 99;
  return act->second(args);
}
