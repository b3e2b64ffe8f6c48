// The measurer's folder is on a full disk here, loses a file, or is removed. Each measurer is the
// test's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cpu_bench_worker/measure/measure_testing.h"
#include "cpu_bench_worker/measure/worker_bench.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

class MeasureFolderTest : public MeasureTest {
 protected:
  // Returns the folders of measurers in this process: each has a lock on its own.
  static std::vector<fs::path> Folders() {
    std::vector<fs::path> folders;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      const fs::path path = fs::read_symlink(entry.path(), gone);
      if (absl::StartsWith(path.filename().string(), "whet-worker.")) folders.push_back(path);
    }
    return folders;
  }

  void SetUp() override {
    MeasureTest::SetUp();
    const std::vector<fs::path> others = Folders();
    MeasurerOptions options;
    options.bin_dir = BinDir();
    options.broken = [this](const absl::Status& why) { told_.emplace_back(why.message()); };
    auto measurer = Measurer::Create(options);
    ASSERT_TRUE(measurer.ok()) << measurer.status();
    own_ = *std::move(measurer);
    for (const fs::path& path : Folders()) {
      if (std::find(others.begin(), others.end(), path) == others.end()) folder_ = path;
    }
    ASSERT_FALSE(folder_.empty());
  }
  absl::StatusOr<v1::Calibration> Put() { return own_->PutProblem(*problem_, calibration_); }
  absl::StatusOr<v1::Verdict> MeasureOwn(const std::string& id, const std::string& source) {
    return own_->Measure(Request(id, source, true));
  }
  // Nothing can be written to a file that the measurer makes next.
  void FillDisk(bool full) {
    for (int i = 0; i < 100; ++i) {
      const fs::path file = folder_ / absl::StrCat("candidate-", i, ".so.tmp");
      fs::remove(file);
      if (full) fs::create_symlink("/dev/full", file);
    }
  }

  std::vector<std::string> told_;
  std::unique_ptr<Measurer> own_;
  fs::path folder_;
};

TEST_F(MeasureFolderTest, AFullDiskIsNamedAndNothingIsLostWhenItHasRoomAgain) {
  ASSERT_TRUE(Put().ok());
  FillDisk(true);
  const auto lost = MeasureOwn("full/1", kMatmulIkj);
  ASSERT_TRUE(lost.ok()) << lost.status();
  EXPECT_EQ(lost->outcome(), v1::INFRASTRUCTURE_ERROR);
  EXPECT_TRUE(absl::StrContains(lost->detail(), "the disk is full")) << lost->detail();
  FillDisk(false);
  const auto measured = MeasureOwn("full/1", kMatmulIkj);
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->outcome(), v1::CORRECT) << measured->detail();
  EXPECT_TRUE(told_.empty()) << told_[0];
}

TEST_F(MeasureFolderTest, OneWhoseFolderIsRemovedSaysSoAndGivesNoVerdict) {
  ASSERT_TRUE(Put().ok());
  fs::remove_all(folder_);
  const std::string why = absl::StrCat("somebody has removed ", folder_.string(),
                                       ", which this worker needs: it must be started again");
  for (const char* id : {"gone/1", "gone/1", "gone/2"}) {
    const auto verdict = MeasureOwn(id, kMatmulIkj);
    EXPECT_EQ(verdict.status(), absl::UnavailableError(why));
  }
  EXPECT_EQ(Put().status(), absl::UnavailableError(why)) << "it is not ready for it any more";
  v1::Problem other = *problem_;
  other.mutable_limits()->set_total_s(other.limits().total_s() + 1);
  EXPECT_EQ(own_->PutProblem(other, nullptr).status(), absl::UnavailableError(why))
      << "it is not the problem that is unsound";
  EXPECT_EQ(told_, std::vector<std::string>{why}) << "once";
}

TEST_F(MeasureFolderTest, AHeaderThatIsMissingIsNoCompileErrorOfTheCandidates) {
  ASSERT_TRUE(Put().ok());
  ASSERT_TRUE(MeasureOwn("before/1", kMatmulIkj).ok());
  int removed = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (!absl::StartsWith(entry.path().filename().string(), "bare.h")) continue;
    removed += fs::remove(entry.path()) ? 1 : 0;
  }
  ASSERT_GT(removed, 0);
  const auto verdict = MeasureOwn("header/1", Variant(kMatmulIkj, 1));
  EXPECT_EQ(verdict.status().code(), absl::StatusCode::kUnavailable) << verdict.status();
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(MeasureOwn("before/1", kMatmulIkj).status(), verdict.status())
      << "from then on every call, also one that needs nothing of it";
}

TEST_F(MeasureFolderTest, AProblemThatMeetsAFaultOfTheHostsIsNotUnsound) {
  ASSERT_TRUE(Put().ok());
  EXPECT_EQ(MeasureOwn("sound/1", kMatmulIkj)->outcome(), v1::CORRECT);
  v1::Problem other = *problem_;
  other.mutable_limits()->set_total_s(other.limits().total_s() + 1);
  // The next problem's folder can't be made: a file has its name.
  for (int i = 0; i < 1000; ++i) {
    const fs::path taken = folder_ / absl::StrCat("problem-", i);
    if (!fs::exists(taken)) {
      std::ofstream(taken).close();
    }
  }
  const absl::Status refused = own_->PutProblem(other, nullptr).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(MeasureOwn("sound/2", Variant(kMatmulIkj, 1))->outcome(), v1::CORRECT)
      << "others go on";
}

}  // namespace
}  // namespace whetstone
