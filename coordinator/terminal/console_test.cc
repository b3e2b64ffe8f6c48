#include "coordinator/terminal/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "common/source_place.h"

namespace whetstone {
namespace {

struct Printed {
  std::string out;
  std::string error;
};

// Prints every kind of line, in a row; returns the exit code.
int SayEverything(Console* console) {
  console->Status("too early to be shown");
  console->Line("step 1: {} %s");
  console->Notice("look at this");
  console->Result({{"steps", 1}});
  return console->Fail(absl::InvalidArgumentError("no such file"));
}

template <typename Body>
Printed Capture(const Body& body) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  body();
  return {testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(ConsoleTest, LinesForPeopleGoToStdout) {
  int exit_code = 0;
  const Printed printed = Capture([&] {
    Console console(/*json=*/false);
    exit_code = SayEverything(&console);
  });
  EXPECT_EQ(exit_code, kExitWrongInput);
  EXPECT_EQ(printed.out, "step 1: {} %s\n! look at this\n");
  EXPECT_EQ(printed.error, "whet: no such file\n");
}

TEST(ConsoleTest, WithJsonStdoutHasResultsAlone) {
  const Printed printed = Capture([] {
    Console console(/*json=*/true);
    SayEverything(&console);
  });
  EXPECT_EQ(printed.out,
            "{\"steps\":1}\n{\"error\":\"no such file\",\"code\":\"INVALID_ARGUMENT\"}\n");
  EXPECT_EQ(printed.error, "step 1: {} %s\n! look at this\nwhet: no such file\n");
}

TEST(ConsoleTest, TheLineOfAFileIsForPeople) {
  const absl::Status status = ErrorAt({"c.yaml:2", "lr: 0", 2, 4}, "'lr' is 0");
  const Printed printed = Capture([&] { Console(/*json=*/true).Fail(status); });
  EXPECT_EQ(printed.error, "whet: c.yaml:2: 'lr' is 0\n    2 | lr: 0\n      |     ^\n");
  EXPECT_EQ(printed.out, "{\"error\":\"c.yaml:2: 'lr' is 0\",\"code\":\"INVALID_ARGUMENT\"}\n");
}

TEST(ConsoleTest, TheLogHasTimesAndLevels) {
  const TempDir folder = *TempDir::Make("console");
  const std::string path = folder.path() + "/whet.log";
  for (int process = 0; process < 2; ++process) {
    Capture([&] {
      Console console(/*json=*/false);
      console.Line("before the log");
      ASSERT_TRUE(console.LogTo(path).ok());
      SayEverything(&console);
    });
  }
  const std::vector<std::string> lines = absl::StrSplit(*ReadFile(path), '\n', absl::SkipEmpty());
  std::vector<std::string> texts;
  for (const std::string& line : lines) {
    absl::Time time;
    EXPECT_TRUE(absl::ParseTime("%Y-%m-%d %H:%M:%E3S", line.substr(0, 23), &time, nullptr)) << line;
    EXPECT_LT(absl::AbsDuration(absl::Now() - time), absl::Minutes(5)) << "UTC: " << line;
    texts.push_back(line.substr(23));
  }
  EXPECT_THAT(texts, testing::ElementsAre(" info step 1: {} %s", " warning look at this",
                                          " error no such file", " info step 1: {} %s",
                                          " warning look at this", " error no such file"));
}

TEST(ConsoleTest, ALogThatCannotBeMadeIsAnError) {
  Console console(/*json=*/false);
  const absl::Status status = console.LogTo("/nowhere/whet.log");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cannot write /nowhere/whet.log"));
}

}  // namespace
}  // namespace whetstone
