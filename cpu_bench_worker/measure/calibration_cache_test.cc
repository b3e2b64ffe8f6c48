#include "cpu_bench_worker/measure/calibration_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr double kMeasuredAt = 1.8e9;

class CalibrationCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    info_.set_host_id("boot");
    info_.set_hostname("host7");
    info_.set_cpu_model("AMD EPYC");
    info_.set_microcode("0x1");
    info_.add_isa("avx2");
    info_.set_compiler("g++ 12.2");
    info_.set_version("0.1.0");
    info_.add_slot_cores(1);
    calibration_.set_noise_band(0.0125);
    calibration_.set_unix_time(kMeasuredAt);
    calibration_.mutable_expert()->set_outcome(v1::CORRECT);
    calibration_.mutable_expert()->set_speedup(3);
    ASSERT_TRUE(WriteFileAtomically(program(), "a worker").ok());
  }

  std::string folder() const { return dir_.path() + "/cache/whetstone/calibrations"; }
  std::string program() const { return dir_.path() + "/whet-worker"; }
  // Returns the cache as another process has it.
  CalibrationCache Cache() const { return CalibrationCache(folder(), {program()}); }
  bool Found(double unix_now = kMeasuredAt + 1) const {
    const auto kept = Cache().Find("problem", info_, unix_now);
    return kept && kept->SerializeAsString() == calibration_.SerializeAsString();
  }
  absl::Status Keep() const { return Cache().Keep("problem", info_, calibration_); }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder())) files.push_back(entry.path());
    return files;
  }

  const TempDir dir_ = *TempDir::Make("calibrations");
  v1::WorkerInfo info_;
  v1::Calibration calibration_;
};

TEST_F(CalibrationCacheTest, KeepsFromOneProcessToTheNextForADay) {
  EXPECT_FALSE(Found());
  ASSERT_TRUE(Keep().ok());
  EXPECT_TRUE(Found());
  EXPECT_TRUE(Found(kMeasuredAt + CalibrationCache::kSecondsMax));
  EXPECT_FALSE(Found(kMeasuredAt + CalibrationCache::kSecondsMax + 1)) << "a day has passed";
  EXPECT_FALSE(Found(kMeasuredAt - 1)) << "the clock was set back";
  struct stat made;
  ASSERT_EQ(stat(folder().c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700u);
  // The noise of the moment and the time are no part of the host.
  info_.set_noise_band(0.3);
  info_.add_slot_noise_bands(0.2);
  info_.set_slot_noise_measurements(9);
  info_.set_unix_time(kMeasuredAt + 7);
  EXPECT_TRUE(Found());
}

TEST_F(CalibrationCacheTest, NotForAnotherProblemHostBootProcessorOrBuild) {
  ASSERT_TRUE(Keep().ok());
  EXPECT_FALSE(Cache().Find("another problem", info_, kMeasuredAt).has_value());
  const v1::WorkerInfo same = info_;
  const std::vector<std::function<void()>> changes = {
      [&] { info_.set_host_id("another boot"); },
      [&] { info_.set_hostname("host8"); },
      [&] { info_.set_cpu_model("AMD EPYC 9575F"); },
      [&] { info_.set_microcode("0x2"); },
      [&] { info_.add_isa("avx512f"); },
      [&] { info_.set_compiler("g++ 13.1"); },
      [&] { info_.set_version("0.2.0"); },
      [&] { info_.set_slot_cores(0, 3); },
      [&] { info_.set_isolation("less"); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    info_ = same;
    changes[i]();
    EXPECT_FALSE(Found()) << i;
  }
  info_ = same;
  EXPECT_TRUE(Found());
  ASSERT_TRUE(WriteFileAtomically(program(), "another worker").ok());
  EXPECT_FALSE(Found()) << "built anew";
  fs::remove(program());
  EXPECT_FALSE(Found());
}

TEST_F(CalibrationCacheTest, WhatIsDamagedIsNotThere) {
  ASSERT_TRUE(Keep().ok());
  const fs::path file = Files().at(0);
  const std::string whole = *ReadFile(file);
  const std::string broken[] = {"", whole.substr(0, 70), whole.substr(0, whole.size() - 1),
                                whole + "x", [&] {
                                  std::string flipped = whole;
                                  flipped.back() = static_cast<char>(flipped.back() ^ 1);
                                  return flipped;
                                }()};
  for (const std::string& text : broken) {
    ASSERT_TRUE(WriteFileAtomically(file, text).ok());
    EXPECT_FALSE(Found()) << text.size() << " of " << whole.size() << " bytes";
  }
  // One file in another's place is damage, too.
  calibration_.set_noise_band(0.5);
  ASSERT_TRUE(Cache().Keep("another problem", info_, calibration_).ok());
  for (const fs::path& other : Files()) {
    if (other != file) fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  }
  EXPECT_FALSE(Found());
  ASSERT_TRUE(Keep().ok());
  EXPECT_TRUE(Found()) << "kept anew over what was broken";
}

TEST_F(CalibrationCacheTest, WhatOthersMayWriteIsNotTrusted) {
  ASSERT_TRUE(Keep().ok());
  const fs::path file = Files().at(0);
  for (const mode_t mode : {0620, 0602}) {
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_FALSE(Found()) << mode;
  }
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_TRUE(Found());
  ASSERT_EQ(chmod(folder().c_str(), 0770), 0);
  EXPECT_FALSE(Found());
  const absl::Status refused = Keep();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_NE(refused.message().find(folder()), std::string::npos) << refused;
  ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
  EXPECT_TRUE(Found());

  // A link or a pipe in the file's place, and a link in the folder's.
  fs::rename(file, dir_.path() + "/elsewhere");
  fs::create_symlink(dir_.path() + "/elsewhere", file);
  EXPECT_FALSE(Found());
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(Found());
  fs::remove(file);
  fs::rename(dir_.path() + "/elsewhere", file);
  EXPECT_TRUE(Found());
  fs::rename(folder(), dir_.path() + "/moved");
  fs::create_directory_symlink(dir_.path() + "/moved", folder());
  EXPECT_FALSE(Found());
  EXPECT_EQ(Keep().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(CalibrationCacheTest, AnotherUsersFilesAreNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  ASSERT_TRUE(Keep().ok());
  constexpr uid_t kNobody = 65534;
  const fs::path file = Files().at(0);
  ASSERT_EQ(chown(file.c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(Found());
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(folder().c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(Found());
  EXPECT_EQ(Keep().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(CalibrationCacheTest, TheirNumberIsBounded) {
  ASSERT_TRUE(Keep().ok());
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(Files().at(0), old);
  ASSERT_TRUE(WriteFileAtomically(folder() + "/somebody's", "not ours to remove").ok());
  for (size_t i = 0; i < CalibrationCache::kFilesMax; ++i)
    ASSERT_TRUE(Cache().Keep(absl::StrCat("problem ", i), info_, calibration_).ok());
  EXPECT_EQ(Files().size(), CalibrationCache::kFilesMax + 1);
  EXPECT_FALSE(Found()) << "the oldest goes first";
  EXPECT_TRUE(Cache().Find("problem 0", info_, kMeasuredAt).has_value());
}

TEST_F(CalibrationCacheTest, WithoutAFolderNothingIsKept) {
  const CalibrationCache none("", {program()});
  EXPECT_TRUE(none.Keep("problem", info_, calibration_).ok());
  EXPECT_FALSE(none.Find("problem", info_, kMeasuredAt).has_value());
}

TEST(CalibrationFolderTest, IsTheUsersCache) {
  const char* home = getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "/home/me", 1);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(CalibrationCache::DefaultFolder(), "/home/me/.cache/whetstone/calibrations");
  setenv("XDG_CACHE_HOME", "/var/cache/me", 1);
  EXPECT_EQ(CalibrationCache::DefaultFolder(), "/var/cache/me/whetstone/calibrations");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(CalibrationCache::DefaultFolder(), "/home/me/.cache/whetstone/calibrations");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(CalibrationCache::DefaultFolder(), "");
  if (home != nullptr) setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace whetstone
