// A run is its directory: moved or copied, it goes on from there and from nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class CopyTest : public WhetTest {
 protected:
  // A run that was killed after its first checkpoint.
  void MakeRun() {
    auto run = StartWhet({"run", WriteCampaign(12), "--run-dir", RunDirectory(), "--set",
                          "checkpoint.keep=1", "--set", "checkpoint.keep_best=false"});
    ASSERT_TRUE(Eventually([&] { return Metrics().size() >= 3 || run->Ended(); }));
    ASSERT_FALSE(run->Ended()) << run->out() << run->err();
    run->Signal(SIGKILL);
    run->Wait(seconds(5));
    ASSERT_TRUE(Eventually(
        [&] { return ServicesOf("whet-trainer").empty() && ServicesOf("whet-worker").empty(); }));
    fs::remove(RunDirectory() + "/control.sock");  // the only thing that can't be copied
    ASSERT_FALSE(fs::is_empty(RunDirectory() + "/checkpoints"));
  }
  // Every file below `directory` and its content.
  static std::map<std::string, std::string> Contents(const std::string& directory) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file())
        contents[entry.path().string()] = *ReadFile(entry.path().string());
    }
    return contents;
  }
  // Resumes the run at `root` to its end, from the checkpoint beside it.
  void ExpectGoesOnFromItsOwn(const std::string& root) {
    fs::remove(root + "/logs/trainer.log");
    const WhetResult end = Whet({"resume", root});
    ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
    EXPECT_THAT(end.out + end.err, Not(HasSubstr("can't load a checkpoint")));
    EXPECT_THAT(*ReadFile(root + "/logs/trainer.log"),
                HasSubstr(absl::StrCat("loaded ", root, "/checkpoints/step-")));
    EXPECT_TRUE(fs::exists(root + "/checkpoints/step-12"));
    EXPECT_EQ(std::distance(fs::directory_iterator(root + "/checkpoints"), {}), 1) << "is kept";
  }
};

TEST_F(CopyTest, ACopyLeavesTheOriginalAlone) {
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  fs::copy(RunDirectory(), Path("copy"), fs::copy_options::recursive);
  const auto before = Contents(RunDirectory());
  ASSERT_NO_FATAL_FAILURE(ExpectGoesOnFromItsOwn(Path("copy")));
  EXPECT_TRUE(Contents(RunDirectory()) == before) << "a file of the original was touched";
}

TEST_F(CopyTest, AMovedRunUsesTheCheckpointsBesideIt) {
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  fs::rename(RunDirectory(), Path("moved"));
  ExpectGoesOnFromItsOwn(Path("moved"));
  EXPECT_FALSE(fs::exists(RunDirectory()));
}

}  // namespace
}  // namespace whetstone
