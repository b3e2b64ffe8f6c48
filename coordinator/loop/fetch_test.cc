#include "coordinator/loop/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The checkpoint is on "another machine": a second folder, read through a line that can be cut.
class FetchTest : public testing::Test {
 protected:
  void SetUp() override {
    // The files are two pieces and a bit, one in a subfolder, and an empty one.
    Write("model.safetensors", std::string(17 << 20, 'w'));
    Write("config.json", "{}");
    Write("adapter/empty", "");
    Write("resume/state.json", "{\"format\": 2}");
    const Manifest manifest = *DigestDirectory(There(""));
    checksum_ = ChecksumOf(manifest);
    Write(kManifestFile, ManifestToJson(manifest));
    hooks_.read = [this](const std::string& file, int64_t offset,
                         int64_t length) -> absl::StatusOr<std::string> {
      ++reads_;
      if (cut_at_.erase(reads_) > 0) return absl::UnavailableError("cut");
      if (stop_at_ == reads_) return absl::CancelledError("stopped");
      const absl::StatusOr<std::string> text = ReadFile(There(file));
      if (!text.ok()) return text;
      return text->substr(static_cast<size_t>(offset), static_cast<size_t>(length));
    };
    hooks_.wait = [this](const absl::Status&) {
      ++waits_;
      return absl::OkStatus();
    };
    hooks_.on_progress = [this](int64_t done, int64_t total) {
      EXPECT_GE(done, last_done_);
      EXPECT_LE(done, total);
      last_done_ = done;
    };
  }
  std::string There(const std::string& name) const { return dir_.path() + "/there/" + name; }
  std::string To() const { return dir_.path() + "/run/checkpoints/step-2"; }
  void Write(const std::string& name, const std::string& content) {
    fs::create_directories(fs::path(There(name)).parent_path());
    ASSERT_TRUE(WriteFileAtomically(There(name), content).ok());
  }
  void ExpectWhole() {
    const auto there = DigestDirectory(There(""));
    const auto here = DigestDirectory(To());
    ASSERT_TRUE(here.ok()) << here.status();
    EXPECT_EQ(ManifestToJson(*here), ManifestToJson(*there)) << "the manifest itself included";
    EXPECT_FALSE(fs::exists(To() + ".part"));
  }

  TempDir dir_ = *TempDir::Make("fetch");
  std::string checksum_;
  FetchHooks hooks_;
  int reads_ = 0;
  int waits_ = 0;
  int stop_at_ = 0;
  int64_t last_done_ = 0;
  std::set<int> cut_at_;
};

TEST_F(FetchTest, BringsEveryFileOnce) {
  const auto fetched = FetchCheckpoint(checksum_, To(), hooks_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_FALSE(fetched->was_here);
  EXPECT_EQ(fetched->bytes, last_done_);
  ExpectWhole();
  const int reads = reads_;
  const auto again = FetchCheckpoint(checksum_, To(), hooks_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->was_here);
  EXPECT_EQ(reads_, reads);
}

TEST_F(FetchTest, ALineThatBreaksIsTriedAgain) {
  cut_at_ = {1, 3, 4, 6};
  const auto fetched = FetchCheckpoint(checksum_, To(), hooks_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(waits_, 4);
  ExpectWhole();
}

TEST_F(FetchTest, GoesOnWhereItWasCutOff) {
  // The manifest, config.json and two pieces of the weights come before.
  stop_at_ = 5;
  EXPECT_TRUE(absl::IsCancelled(FetchCheckpoint(checksum_, To(), hooks_).status()));
  EXPECT_FALSE(fs::exists(To())) << "half a checkpoint must not look like one";
  const auto fetched = FetchCheckpoint(checksum_, To(), hooks_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(fetched->bytes_before, (16 << 20) + 2);
  ExpectWhole();
}

TEST_F(FetchTest, WhatArrivesChangedIsNamedAndBroughtAnew) {
  const std::string whole = *ReadFile(There("config.json"));
  Write("config.json", "[]");
  const auto changed = FetchCheckpoint(checksum_, To(), hooks_);
  EXPECT_EQ(changed.status().code(), absl::StatusCode::kDataLoss) << changed.status();
  EXPECT_THAT(std::string(changed.status().message()), HasSubstr("config.json did not arrive"));
  EXPECT_FALSE(fs::exists(To()));
  Write("config.json", whole);
  const auto fetched = FetchCheckpoint(checksum_, To(), hooks_);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  ExpectWhole();
}

TEST_F(FetchTest, AnotherCheckpointIsRefused) {
  const auto other = FetchCheckpoint(std::string(64, 'a'), To(), hooks_);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kDataLoss) << other.status();
  EXPECT_FALSE(fs::exists(To() + ".part"));
  fs::create_directories(To());
  const auto taken = FetchCheckpoint(checksum_, To(), hooks_);
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kAlreadyExists) << taken.status();
}

TEST_F(FetchTest, ATruncatedFileAndAMissingOneAreErrors) {
  Write("model.safetensors", std::string(9 << 20, 'w'));
  const auto truncated = FetchCheckpoint(checksum_, To(), hooks_);
  EXPECT_EQ(truncated.status().code(), absl::StatusCode::kDataLoss) << truncated.status();
  fs::remove(There("model.safetensors"));
  EXPECT_FALSE(FetchCheckpoint(checksum_, To(), hooks_).ok());
}

TEST_F(FetchTest, NobodyWaitsForever) {
  for (int i = 1; i <= 100; ++i) cut_at_.insert(i);
  const auto fetched = FetchCheckpoint(checksum_, To(), hooks_);
  EXPECT_TRUE(absl::IsUnavailable(fetched.status())) << fetched.status();
  EXPECT_EQ(reads_, 60);
}

}  // namespace
}  // namespace whetstone
