// The small parts around a kernel process: shared memory, what /proc says, messages.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cpu_bench_worker/build/compiler.h"
#include "cpu_bench_worker/kernel/sleep_watch.h"
#include "cpu_bench_worker/shared_memory/doorbell.h"
#include "cpu_bench_worker/shared_memory/shared_region.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {
namespace {

TEST(SharedRegionTest, ReadOnlyStaysReadOnly) {
  auto region = SharedRegion::Make("test", 8192, SharedRegion::Access::kReadOnly, -1);
  ASSERT_TRUE(region.ok()) << region.status();
  region->data()[0] = 7;  // ours is writable
  EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd(), 0), MAP_FAILED);
  void* view = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, region->fd(), 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_EQ(static_cast<char*>(view)[0], 7);
  EXPECT_NE(mprotect(view, 8192, PROT_READ | PROT_WRITE), 0);
  munmap(view, 8192);
  // Not even by opening the file again for writing.
  const int again = open(absl::StrCat("/proc/self/fd/", region->fd()).c_str(), O_RDWR | O_CLOEXEC);
  if (again >= 0) {
    EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
    EXPECT_LT(pwrite(again, "x", 1, 0), 0);
    close(again);
  }
}

TEST(SharedRegionTest, TheSizeIsSealed) {
  auto region = SharedRegion::Make("test", 4096, SharedRegion::Access::kReadWrite, -1);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_NE(ftruncate(region->fd(), 0), 0);
  EXPECT_NE(ftruncate(region->fd(), 8192), 0);
  auto empty = SharedRegion::Make("test", 0, SharedRegion::Access::kReadOnly, -1);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->fd(), -1);
}

TEST(SharedRegionTest, IsBoundToItsNodeForEveryMapping) {
  const auto region = SharedRegion::Make("test", 8192, SharedRegion::Access::kReadWrite, 0);
  ASSERT_TRUE(region.ok()) << region.status();
  void* childs = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, region->fd(), 0);
  ASSERT_NE(childs, MAP_FAILED);
  for (const void* mapping :
       {static_cast<const void*>(region->data()), static_cast<const void*>(childs)}) {
    int policy = -1;
    unsigned long nodes[16] = {};
    ASSERT_EQ(syscall(SYS_get_mempolicy, &policy, nodes, 8 * sizeof nodes, mapping, MPOL_F_ADDR),
              0);
    EXPECT_EQ(policy, MPOL_BIND);
    EXPECT_EQ(nodes[0], 1u);
  }
  munmap(childs, 8192);
  const auto nowhere = SharedRegion::Make("test", 8192, SharedRegion::Access::kReadWrite, 1000);
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kResourceExhausted) << nowhere.status();
}

// Until that many threads are asleep for good: on its way to where it waits a thread may sleep too,
// for a page, and a millisecond tells.
ProcessView AtRest(const SleepWatch& watch, size_t threads) {
  for (;;) {
    const ProcessView view = watch.Look();
    usleep(1000);
    if (!view.alive) return view;
    if (view.asleep && view.threads.size() == threads && watch.Look().SameRuns(view)) return view;
  }
}

TEST(SleepWatchTest, SeesSleepAndWork) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    while (read(ends[0], &byte, 1) == 1 && byte == 'n') {
    }
    for (;;) {  // works for ever
    }
  }
  auto watch = SleepWatch::Open(child);
  ASSERT_TRUE(watch.ok()) << watch.status();
  const ProcessView view = AtRest(*watch, 1);
  ASSERT_TRUE(view.alive);
  EXPECT_TRUE(watch->Look().SameRuns(view)) << "asleep: does not run";
  const ProcessView watch_before = watch->LookClosely();
  EXPECT_TRUE(watch_before.SettledSince(watch_before));
  ASSERT_EQ(write(ends[1], "n", 1), 1);  // wakes it; it sleeps again
  ProcessView later;
  do {
    later = watch->LookClosely();
  } while (!later.asleep || !later.SettledSince(watch_before) || later.SameRuns(view));
  // Only of a sleeper is the time it ran exact.
  EXPECT_GT(AtRest(*watch, 1).ran_ns, view.ran_ns) << "the nap between was seen";
  ASSERT_EQ(write(ends[1], "w", 1), 1);
  while (watch->Look().asleep) {
  }
  EXPECT_TRUE(watch->Look().alive);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(watch->Look().alive);
  EXPECT_FALSE(SleepWatch::Open(child).ok());
  close(ends[0]);
  close(ends[1]);
}

// A thread that ends may not hide that another one ran.
TEST(SleepWatchTest, ThreadsCannotMakeUpForEachOther) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::thread first([&] {
      char byte;
      while (read(ends[0], &byte, 1) == 1 && byte == 'n') {
      }
    });
    first.join();
    for (;;) pause();
  }
  auto watch = SleepWatch::Open(child);
  ASSERT_TRUE(watch.ok()) << watch.status();
  const ProcessView two = AtRest(*watch, 2);
  ASSERT_TRUE(two.alive);
  EXPECT_TRUE(watch->Look().SameRuns(two));
  ASSERT_EQ(write(ends[1], "e", 1), 1);  // one thread ends, the other wakes once
  const ProcessView one = AtRest(*watch, 1);
  EXPECT_FALSE(one.SameRuns(two));
  ProcessView started = one;  // as many runs in sum, by others
  started.threads = {{1, 2, 0}, {2, 3, 0}};
  ProcessView ended = one;
  ended.threads = {{2, 5, 0}};
  EXPECT_FALSE(started.SameRuns(ended));
  EXPECT_FALSE(ended.SettledSince(started)) << "ran, and has not slept since";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(FailureTest, EveryEndHasItsOutcome) {
  SandboxResult result;
  const auto outcome = [&] { return FailureOfEnd(result, "computing n=3").outcome; };
  result.exit = SandboxExit::kSignaled;
  result.signal = SIGSEGV;
  EXPECT_EQ(outcome(), v1::CRASH);
  EXPECT_TRUE(absl::StrContains(FailureOfEnd(result, "computing n=3").detail,
                                "SIGSEGV (memory that is not its own, or writing to an input) "
                                "while computing n=3"));
  result.signal = SIGSYS;
  EXPECT_EQ(outcome(), v1::FORBIDDEN);
  result.signal = SIGABRT;
  EXPECT_EQ(outcome(), v1::CRASH);
  result.stderr_text = "terminate called after throwing an instance of 'std::bad_alloc'";
  EXPECT_EQ(outcome(), v1::MEMORY_LIMIT);
  result.signal = SIGSYS;
  EXPECT_EQ(outcome(), v1::FORBIDDEN) << "words do not excuse a forbidden call";
  result.stderr_text.clear();
  result.exit = SandboxExit::kMemoryLimit;
  EXPECT_EQ(outcome(), v1::MEMORY_LIMIT);
  result.exit = SandboxExit::kCpuLimit;
  EXPECT_EQ(outcome(), v1::TIMEOUT);
  result.exit = SandboxExit::kExited;
  result.exit_code = 0;
  EXPECT_EQ(outcome(), v1::CRASH) << "leaving with 0 is no success";
}

TEST(TrimDiagnosticsTest, KeepsTheFirstErrorsWithoutPaths) {
  EXPECT_EQ(TrimDiagnostics("/work/candidate.cc: In function 'void f()':\n"
                            "/work/candidate.cc:3:5: error: 'x' was not declared\n"
                            "/work/candidate.cc:4:5: warning: unused\n"
                            "/work/candidate.cc:3:5: error: 'x' was not declared\n"
                            "cc1plus: error: too big\n"
                            "/usr/bin/ld: /tmp/cc1.o: in function `g':\n"
                            "c.cc:(.text+0x5): undefined reference to `h()'\n"
                            "/work/candidate.cc:9:5: error: never shown\n"),
            "line 3: error: 'x' was not declared\n"
            "error: too big\n"
            "undefined reference to `h()'");
  EXPECT_EQ(TrimDiagnostics("no such thing"), "");
  EXPECT_LT(TrimDiagnostics("candidate.cc:1:1: error: " + std::string(5000, 'x')).size(), 800u);
}

}  // namespace
}  // namespace whetstone
