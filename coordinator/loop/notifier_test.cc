#include "coordinator/loop/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/eventually_testing.h"
#include "common/file.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NotifierTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  // Tells the command all of it, and waits for the notifier's end.
  void Tell(const std::string& command, std::vector<Notification> notifications,
            milliseconds deadline = Notifier::kDeadline) {
    Notifier notifier(
        command, "/runs/mine", "mine", Path("notify.log"),
        [this](const std::string& why) {
          const std::lock_guard<std::mutex> lock(mutex_);
          warnings_.push_back(why);
        },
        deadline);
    for (Notification& notification : notifications) notifier.Tell(std::move(notification));
  }
  std::vector<std::string> Told() const {
    const auto text = ReadFile(Path("told"));
    return absl::StrSplit(text.ok() ? *text : "", '\n', absl::SkipEmpty());
  }

  const TempDir folder_ = *TempDir::Make("notify");
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_F(NotifierTest, WhatHappenedIsInTheEnvironmentAndOnTheInput) {
  Notification best;
  best.event = "best";
  best.text = "new best for \"a\": $(touch hacked) 'x' é";
  best.step = 12;
  best.more = {{"problem", "a"}, {"speedup", 5.25}};
  Tell(absl::StrCat("{ echo \"$WHET_EVENT|$WHET_RUN|$WHET_NAME|$WHET_STEP|$WHET_TEXT\"; cat; } >> ",
                    Path("told")),
       {best});
  const std::vector<std::string> told = Told();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], "best|/runs/mine|mine|12|" + best.text);
  const nlohmann::json json = nlohmann::json::parse(told[1]);
  EXPECT_GT(json["unix_time"].get<double>(), 1.7e9);
  nlohmann::json rest = json;
  rest.erase("unix_time");
  EXPECT_EQ(rest, nlohmann::json({{"event", "best"},
                                  {"run", "/runs/mine"},
                                  {"name", "mine"},
                                  {"step", 12},
                                  {"text", best.text},
                                  {"problem", "a"},
                                  {"speedup", 5.25}}));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(NotifierTest, OneAfterTheOtherAndAllBeforeItsEnd) {
  std::vector<Notification> all;
  for (const char* text : {"1", "2", "3"}) all.push_back({.event = "alarm", .text = text});
  Tell(absl::StrCat("echo $WHET_TEXT >> ", Path("told")), all);
  EXPECT_THAT(Told(), ElementsAre("1", "2", "3"));
}

TEST_F(NotifierTest, AFailureIsAWarning) {
  Tell("echo no such channel >&2; exit 7",
       {{.event = "finish", .text = ""}, {.event = "stall", .text = ""}});
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("told of 'finish', failed (exit code 7): no such channel"),
                          HasSubstr("told of 'stall', failed")));
  EXPECT_EQ(*ReadFile(Path("notify.log")), "no such channel\nno such channel\n");
}

TEST_F(NotifierTest, OneThatHangsIsEndedAndTheRestLeftOut) {
  const auto begin = std::chrono::steady_clock::now();
  Tell(absl::StrCat("echo $WHET_TEXT >> ", Path("told"), "; exec sleep 600"),
       {{.event = "alarm", .text = "1"}, {.event = "alarm", .text = "2"}}, milliseconds(2000));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_THAT(Told(), ElementsAre("1"));
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[0], HasSubstr("told of 'alarm', did not end in time"));
  EXPECT_THAT(warnings_[1], HasSubstr("1 notification(s) left out"));
}

TEST_F(NotifierTest, WhoStopsARunWaitsForItNoLongerThanIsSaid) {
  const auto begin = std::chrono::steady_clock::now();
  std::string warning;
  Notifier notifier("exec sleep 600", "/runs/mine", "mine", Path("notify.log"),
                    [&](const std::string& why) { warning = why; });
  notifier.Tell({.event = "best", .text = "x"});
  notifier.End(milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, Notifier::kDeadline / 2);
  EXPECT_FALSE(warning.empty()) << "it was ended, or never told";
}

TEST_F(NotifierTest, WithoutACommandNobodyIsTold) {
  Tell("", {{.event = "finish", .text = "x"}});
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_FALSE(ReadFile(Path("notify.log")).ok());
}

}  // namespace
}  // namespace whetstone
