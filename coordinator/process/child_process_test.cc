#include "coordinator/process/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "common/eventually_testing.h"
#include "common/file.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool Alive(pid_t pid) {
  const auto stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  return stat.ok() && stat->find(") Z") == std::string::npos;
}

TEST(ChildProcessTest, TellsHowItEndedAndKeepsItsOutput) {
  auto dir = TempDir::Make("child");
  ASSERT_TRUE(dir.ok());
  ChildOptions options;
  options.argv = {"sh", "-c", "echo first; echo last >&2; exit 3"};
  options.log_path = dir->path() + "/log";
  auto child = ChildProcess::Start(options);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(Eventually([&] { return (*child)->Ended().has_value(); }));
  EXPECT_EQ(*(*child)->Ended(), "exit code 3");
  EXPECT_EQ(LastLines(options.log_path, 1), "last");
  EXPECT_EQ(LastLines(options.log_path, 9), "first\nlast");
  EXPECT_EQ(LastLines(dir->path() + "/none", 9), "");
}

TEST(ChildProcessTest, MissingProgramIsAnErrorThatNamesIt) {
  ChildOptions options;
  options.argv = {"/nonexistent/whet-worker"};
  const auto child = ChildProcess::Start(options);
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(child.status().message()), testing::HasSubstr("whet-worker"));
}

TEST(ChildProcessTest, StopKillsWhatIgnoresTermination) {
  ChildOptions options;
  options.argv = {"sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"};
  auto child = ChildProcess::Start(options);
  ASSERT_TRUE(child.ok());
  std::this_thread::sleep_for(milliseconds(100));  // this lets the trap be set
  (*child)->Stop(milliseconds(50));
  EXPECT_THAT(*(*child)->Ended(), testing::HasSubstr("signal 9"));
}

TEST(ChildProcessTest, HasOwnProcessGroupAndNoForeignDescriptors) {
  auto dir = TempDir::Make("child");
  ASSERT_TRUE(dir.ok());
  const int leaked = open("/dev/zero", O_RDONLY);  // O_CLOEXEC is left out on purpose
  ASSERT_GE(leaked, 3);
  ChildOptions options;
  options.argv = {"sh", "-c", "ls -l /proc/$$/fd; ps -o pgid= -p $$"};
  options.log_path = dir->path() + "/log";
  auto child = ChildProcess::Start(options);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(Eventually([&] { return (*child)->Ended().has_value(); }));
  const std::string log = *ReadFile(options.log_path);
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("/dev/zero")));
  EXPECT_THAT(log, testing::HasSubstr(std::to_string((*child)->pid())));
  close(leaked);
}

TEST(ChildProcessTest, SurvivesTheThreadThatStartedIt) {
  ChildOptions options;
  options.argv = {"sleep", "60"};
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = *ChildProcess::Start(options); }).join();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(child->Ended().has_value()) << *child->Ended();
}

// A process that starts a child is killed, and the child must go too. Forking threads does not copy
// them, so the parent-to-be is this program once more, told by the environment what to do.
constexpr char kParentRole[] = "WHETSTONE_TEST_PARENT_PIPE";

TEST(ChildProcessTest, DiesWithItsParentHoweverThatDies) {
  if (const char* pipe_fd = std::getenv(kParentRole)) {
    ChildOptions options;
    options.argv = {"sh", "-c", "sleep 60"};
    options.life_line = true;  // sh ignores the two words
    auto child = ChildProcess::Start(options);
    const pid_t pid = child.ok() ? (*child)->pid() : -1;
    (void)!write(std::atoi(pipe_fd), &pid, sizeof(pid));
    pause();
  }
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  setenv(kParentRole, std::to_string(fds[1]).c_str(), 1);
  const pid_t parent = fork();
  if (parent == 0) {
    execl("/proc/self/exe", "child_process_test", "--gtest_filter=*DiesWithItsParent*", nullptr);
    _exit(127);
  }
  unsetenv(kParentRole);
  close(fds[1]);
  pid_t child = -1;
  ASSERT_EQ(read(fds[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  ASSERT_GT(child, 0);
  ASSERT_TRUE(Alive(child));
  const auto killed = std::chrono::steady_clock::now();
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return !Alive(child); }));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, seconds(2));
  close(fds[0]);
}

}  // namespace
}  // namespace whetstone
