#include "coordinator/terminal/stop_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

// The program as it is once nobody reads its output any more.
[[noreturn]] void RunAfterTheTerminalsEnd() {
  new StopSignals;
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(1);
  close(ends[0]);
  raise(SIGHUP);
  Console console(/*json=*/false);
  console.Line("step 1");
  console.Status("waiting");
  console.Line("step 2");
  _exit(0);
}

TEST(StopSignalsTest, TheTerminalsEndStopsNothing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(RunAfterTheTerminalsEnd(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace whetstone
