#include "coordinator/process/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/unique_fd.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;

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
  auto dir = TempDir::Make("child");
  ASSERT_TRUE(dir.ok());
  ChildOptions options;
  options.argv = {"sh", "-c", "trap '' TERM; echo armed; while :; do sleep 60; done"};
  options.log_path = dir->path() + "/log";
  auto child = ChildProcess::Start(options);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(Eventually([&] { return LastLines(options.log_path, 1) == "armed"; }));
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

TEST(ChildProcessTest, SpeaksOverADescriptorAndMayBeTerminated) {
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &stop, &before), 0);
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  ChildOptions options;
  options.argv = {"cat"};
  options.stdio = theirs.get();
  const auto child = ChildProcess::Start(options);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_TRUE(child.ok()) << child.status();
  theirs.reset();
  char answer[3] = {};
  ASSERT_EQ(write(ours.get(), "hey", 3), 3);
  EXPECT_EQ(recv(ours.get(), answer, 3, MSG_WAITALL), 3);
  EXPECT_EQ(std::string(answer, 3), "hey");
  (*child)->Stop(std::chrono::seconds(60));
  EXPECT_THAT(*(*child)->Ended(), testing::HasSubstr("signal 15"));
}

TEST(ChildProcessTest, HasAnEnvironmentAndAnInputOfItsOwn) {
  auto dir = TempDir::Make("child");
  ASSERT_TRUE(dir.ok());
  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/input", "to read\n").ok());
  const UniqueFd input(open((dir->path() + "/input").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(setenv("WHET_CHILD_OWN", "ours", 1), 0);
  ASSERT_EQ(setenv("WHET_CHILD_KEPT", "kept", 1), 0);
  ChildOptions options;
  options.argv = {"sh", "-c", "echo \"$WHET_CHILD_OWN|$WHET_CHILD_KEPT|$PATH\"; cat"};
  options.environment = {{"WHET_CHILD_OWN", "a 'b' $c"}};
  options.input = input.get();
  options.log_path = dir->path() + "/log";
  auto child = ChildProcess::Start(options);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(Eventually([&] { return (*child)->Ended().has_value(); }));
  EXPECT_EQ(*ReadFile(options.log_path),
            std::string("a 'b' $c|kept|") + std::getenv("PATH") + "\nto read\n");
  EXPECT_STREQ(std::getenv("WHET_CHILD_OWN"), "ours") << "this process keeps its own";
}

TEST(ChildProcessTest, LeavesNothingOfItsGroupBehind) {
  auto dir = TempDir::Make("child");
  ASSERT_TRUE(dir.ok());
  ChildOptions options;
  options.argv = {"sh", "-c", "sleep 600 & echo $!"};
  options.log_path = dir->path() + "/log";
  const auto child = ChildProcess::Start(options);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(Eventually([&] { return (*child)->Ended().has_value(); }));
  const pid_t left = std::stoi(*ReadFile(options.log_path));
  EXPECT_TRUE(Eventually([&] { return !Alive(left); }));
}

TEST(ChildProcessTest, SurvivesTheThreadThatStartedIt) {
  auto dir = TempDir::Make("child");
  ASSERT_TRUE(dir.ok());
  const std::string fifo = dir->path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd word(open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(word);
  ChildOptions options;
  options.argv = {"sh", "-c", "read word < " + fifo + "; exit 7"};
  std::unique_ptr<ChildProcess> child;
  pid_t starter = 0;
  std::thread([&] {
    starter = gettid();
    child = *ChildProcess::Start(options);
  }).join();
  // Whatever its end does to the child has been done when it is gone from /proc.
  const std::string task = "/proc/self/task/" + std::to_string(starter);
  ASSERT_TRUE(Eventually([&] { return access(task.c_str(), F_OK) != 0; }));
  ASSERT_EQ(write(word.get(), "go\n", 3), 3);
  ASSERT_TRUE(Eventually([&] { return child->Ended().has_value(); }));
  EXPECT_EQ(*child->Ended(), "exit code 7");
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
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return !Alive(child); }));
  close(fds[0]);
}

}  // namespace
}  // namespace whetstone
