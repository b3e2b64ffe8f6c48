#include "coordinator/process/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr std::chrono::milliseconds kEndPoll{5};

// The Forker is the one thread that forks. It is never joined, as it must outlive every other.
class Forker {
 public:
  static Forker& Get() {
    static Forker* const forker = new Forker;
    return *forker;
  }

  pid_t Run(const std::function<pid_t()>& fork_child) {
    std::packaged_task<pid_t()> task(fork_child);
    std::future<pid_t> pid = task.get_future();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return pid.get();
  }

 private:
  Forker() {
    std::thread([this] {
      std::unique_lock<std::mutex> lock(mutex_);
      while (true) {
        changed_.wait(lock, [this] { return !tasks_.empty(); });
        std::packaged_task<pid_t()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        lock.lock();
      }
    }).detach();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<pid_t()>> tasks_;  // mutex_ protects it
};

struct Pipe {
  int read = -1;
  int write = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  return Pipe{fds[0], fds[1]};
}

// What a child is given; borrowed.
struct ChildParts {
  char* const* argv = nullptr;
  char** environment = nullptr;
  int log = -1;
  int stdio = -1;
  int input = -1;
  int life_line = -1;
  int error_pipe = -1;
  pid_t parent = 0;
};

// BecomeChild is what the child does between fork and exec. It makes only async-signal-safe calls,
// and never returns.
[[noreturn]] void BecomeChild(const ChildParts& parts) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parts.parent) _exit(127);  // the parent died before the line above
  for (int s = 1; s < NSIG; ++s) signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log = parts.log >= 0 ? parts.log : null;
  dup2(parts.stdio >= 0 ? parts.stdio : parts.input >= 0 ? parts.input : null, 0);
  dup2(parts.stdio >= 0 ? parts.stdio : log, 1);
  dup2(log, 2);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (parts.life_line >= 0) fcntl(parts.life_line, F_SETFD, 0);
  environ = parts.environment;
  execvp(parts.argv[0], parts.argv);
  const int error = errno;
  (void)!write(parts.error_pipe, &error, sizeof(error));
  _exit(127);
}

// Returns this process's environment with those in the place of its own: "NAME=VALUE" each.
std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& values) {
  std::vector<std::string> all;
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    if (values.count(std::string(text.substr(0, text.find('=')))) == 0) all.emplace_back(text);
  }
  for (const auto& [name, value] : values) all.push_back(absl::StrCat(name, "=", value));
  return all;
}

std::string Describe(int wait_status) {
  if (WIFEXITED(wait_status)) return absl::StrCat("exit code ", WEXITSTATUS(wait_status));
  const int s = WTERMSIG(wait_status);
  return absl::StrCat("killed by signal ", s, " (", strsignal(s), ")");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildOptions& options) {
  CHECK(!options.argv.empty());
  std::vector<std::string> words = options.argv;
  Pipe life_line;
  if (options.life_line) {
    ASSIGN_OR_RETURN(life_line, MakePipe());
    words.push_back("--life-line-fd");
    words.push_back(absl::StrCat(life_line.read));
  }
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  const std::vector<char*> argv = pointers(words);
  std::vector<std::string> environment = EnvironmentWith(options.environment);
  std::vector<char*> envp = pointers(environment);

  int log = -1;
  absl::StatusOr<Pipe> error_pipe = MakePipe();
  absl::Status failed = error_pipe.status();
  if (failed.ok() && !options.log_path.empty()) {
    log = open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) {
      failed = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", options.log_path));
    }
  }
  pid_t pid = -1;
  if (failed.ok()) {
    const ChildParts parts = {.argv = argv.data(),
                              .environment = envp.data(),
                              .log = log,
                              .stdio = options.stdio,
                              .input = options.input,
                              .life_line = life_line.read,
                              .error_pipe = error_pipe->write,
                              .parent = getpid()};
    pid = Forker::Get().Run([&] {
      const pid_t child = fork();
      if (child == 0) BecomeChild(parts);
      return child;
    });
    if (pid < 0) failed = absl::ErrnoToStatus(errno, "cannot fork");
  }
  if (log >= 0) close(log);
  if (life_line.read >= 0) close(life_line.read);
  if (error_pipe.ok()) {
    close(error_pipe->write);
    int error = 0;
    if (pid > 0 && read(error_pipe->read, &error, sizeof(error)) == sizeof(error)) {
      waitpid(pid, nullptr, 0);
      failed = absl::ErrnoToStatus(error, absl::StrCat("cannot start ", options.argv[0]));
    }
    close(error_pipe->read);
  }
  if (!failed.ok()) {
    if (life_line.write >= 0) close(life_line.write);
    return failed;
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, life_line.write));
}

ChildProcess::~ChildProcess() {
  Stop(std::chrono::seconds(5));
  if (life_line_ >= 0) close(life_line_);
}

std::optional<std::string> ChildProcess::Ended() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_.has_value()) {
    // Until it is waited for below, its number is nobody else's.
    siginfo_t gone = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &gone, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        gone.si_pid == pid_) {
      kill(-pid_, SIGKILL);
    }
    int status = 0;
    const pid_t rc = waitpid(pid_, &status, WNOHANG);
    if (rc == pid_) ended_ = Describe(status);
    if (rc < 0 && errno == ECHILD) ended_ = "ended, nobody knows how";
  }
  return ended_;
}

std::optional<std::string> ChildProcess::Wait(std::chrono::milliseconds limit,
                                              const std::function<bool()>& cancelled) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (std::optional<std::string> how = Ended()) return how;
    if (cancelled && cancelled()) return std::nullopt;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kEndPoll);
  }
}

void ChildProcess::Stop(std::chrono::milliseconds grace) {
  if (Ended().has_value()) return;
  kill(pid_, SIGTERM);
  if (Wait(grace).has_value()) return;
  kill(pid_, SIGKILL);
  while (!Wait(std::chrono::seconds(1)).has_value()) {
  }
}

std::string LastLines(const std::string& path, int lines) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return "";
  std::vector<std::string> all = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  const size_t keep = std::min<size_t>(all.size(), static_cast<size_t>(lines));
  return absl::StrJoin(all.end() - static_cast<std::ptrdiff_t>(keep), all.end(), "\n");
}

std::string ProgramDirectory() {
  std::string path(4096, '\0');
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size());
  if (n <= 0) return ".";
  path.resize(static_cast<size_t>(n));
  return path.substr(0, path.rfind('/'));
}

}  // namespace whetstone
