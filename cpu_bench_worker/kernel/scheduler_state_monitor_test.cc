#include "cpu_bench_worker/kernel/scheduler_state_monitor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "common/eventually_testing.h"

namespace whetstone {
namespace {

// Waits until `threads` threads are asleep for good: on its way to where it waits a thread may
// sleep too, for a page, and two looks with a pause between them tell.
ProcessSnapshot AtRest(const SchedulerStateMonitor& monitor, size_t threads) {
  std::optional<ProcessSnapshot> before;
  EXPECT_TRUE(Eventually([&] {
    const ProcessSnapshot now = monitor.FullSnapshot();
    const bool rests = before.has_value() && before->asleep && before->threads.size() == threads &&
                       now.SameRuns(*before);
    before = now;
    return rests || !now.alive;
  }));
  return *before;
}

TEST(SchedulerStateMonitorTest, SeesSleepAndWork) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    while (read(ends[0], &byte, 1) == 1 && byte == 'n') {
    }
    volatile bool works = true;  // For ever; a loop that looks at nothing need not.
    while (works) {
    }
  }
  auto monitor = SchedulerStateMonitor::Open(child);
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  const ProcessSnapshot view = AtRest(*monitor, 1);
  ASSERT_TRUE(view.alive);
  EXPECT_TRUE(monitor->Snapshot().SameRuns(view)) << "asleep: does not run";
  const ProcessSnapshot full_before = monitor->FullSnapshot();
  EXPECT_TRUE(full_before.SettledSince(full_before));
  ASSERT_EQ(write(ends[1], "n", 1), 1);  // This wakes it; it sleeps again.
  ProcessSnapshot later;
  do {
    later = monitor->FullSnapshot();
  } while (!later.asleep || !later.SettledSince(full_before) || later.SameRuns(view));
  // Only of a sleeper is the time it ran exact.
  EXPECT_GT(AtRest(*monitor, 1).ran_ns, view.ran_ns) << "the nap between was seen";
  ASSERT_EQ(write(ends[1], "w", 1), 1);
  while (monitor->Snapshot().asleep) {
  }
  EXPECT_TRUE(monitor->Snapshot().alive);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(monitor->Snapshot().alive);
  EXPECT_FALSE(SchedulerStateMonitor::Open(child).ok());
  close(ends[0]);
  close(ends[1]);
}

// A thread that ends may not hide that another one ran.
TEST(SchedulerStateMonitorTest, ThreadsCannotMakeUpForEachOther) {
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
  auto monitor = SchedulerStateMonitor::Open(child);
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  const ProcessSnapshot two = AtRest(*monitor, 2);
  ASSERT_TRUE(two.alive);
  EXPECT_TRUE(monitor->Snapshot().SameRuns(two));
  ASSERT_EQ(write(ends[1], "e", 1), 1);  // One thread ends, the other wakes once.
  const ProcessSnapshot one = AtRest(*monitor, 1);
  EXPECT_FALSE(one.SameRuns(two));
  ProcessSnapshot started = one;  // It has as many runs in sum, by other threads.
  started.threads = {{1, 2, 0}, {2, 3, 0}};
  ProcessSnapshot ended = one;
  ended.threads = {{2, 5, 0}};
  EXPECT_FALSE(started.SameRuns(ended));
  EXPECT_FALSE(ended.SettledSince(started)) << "ran, and has not slept since";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace whetstone
