// tests/gpu/run.sh as far as a machine without a GPU can run it, and what deploy/setup.sh says of
// drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "gpu_trainer/profile/driver.h"

namespace whetstone {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

struct Outcome {
  int exit_code = -1;
  std::string out;  // with stderr
};

class GpuScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("gpurun");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
  }
  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }

  // Runs a line of bash in a folder of its own.
  Outcome Bash(const std::string& line) const {
    const std::string script = Path("line.sh");
    EXPECT_TRUE(WriteFileAtomically(script, absl::StrCat("cd ", dir_->path(), "\n", line)).ok());
    FILE* const pipe = popen(absl::StrCat("bash ", script, " 2>&1").c_str(), "r");
    Outcome outcome;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.out.append(buffer, n);
    const int how = pclose(pipe);
    outcome.exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    return outcome;
  }
  Outcome Run(const std::string& words) const {
    return Bash(absl::StrCat(SourceDir(), "/tests/gpu/run.sh ", words));
  }

  std::unique_ptr<TempDir> dir_;
};

TEST_F(GpuScriptTest, SetUpNamesTheDriverFoundAndTheOneNeeded) {
  const auto too_old = [&](const std::string& version) {
    EXPECT_TRUE(WriteFileAtomically(
                    Path("version"),
                    absl::StrCat("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ",
                                 version, "  Release Build  (dvs-builder@U22)  Sun Jul 27 2025\n",
                                 "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"))
                    .ok());
    return Bash(absl::StrCat("source ", SourceDir(), "/deploy/setup.sh; driver_too_old version"));
  };
  const Outcome old = too_old("550.54.14");
  EXPECT_EQ(old.exit_code, 0) << old.out;
  EXPECT_THAT(old.out, HasSubstr("driver is 550.54.14, but "));
  EXPECT_THAT(old.out, HasSubstr(absl::StrCat("needs ", kDriverMin, " or newer")))
      << "deploy/setup.sh and whet-trainer must want the same";
  for (const std::string& version : {absl::StrCat(kDriverMin, ".65.06"), std::string("610.1")}) {
    const Outcome good = too_old(version);
    EXPECT_EQ(good.exit_code, 1);
    EXPECT_EQ(good.out, "");
  }
  EXPECT_EQ(Bash(absl::StrCat("source ", SourceDir(), "/deploy/setup.sh; driver_too_old nowhere"))
                .exit_code,
            1)
      << "a machine without a driver";
}

TEST_F(GpuScriptTest, OnACpuItServesRanksAndACampaign) {
  const Outcome run = Run(absl::StrCat("--device cpu --bin ", BinDir()));
  EXPECT_EQ(run.exit_code, 0) << run.out;
  for (const char* name :
       {"serve: ", "two ranks: ", "campaign: ", "log-probabilities beside transformers: "}) {
    EXPECT_THAT(run.out, HasSubstr(absl::StrCat("\n", name, "passed in "))) << run.out;
  }
  EXPECT_THAT(run.out, HasSubstr("compute-sanitizer: skipped: it looks at what a GPU runs\n"));
  EXPECT_THAT(run.out, EndsWith("4 passed, 0 failed, 3 skipped\n"));
}

TEST_F(GpuScriptTest, AFailureIsShownCountedAndTheExitCode) {
  const std::string program = Path("gpu_system_test");
  ASSERT_TRUE(WriteFileAtomically(program, "#!/bin/sh\necho the GPU is on fire\nexit 7\n").ok());
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  const Outcome run = Run(absl::StrCat("--device cpu --only serve --bin ", dir_->path()));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("serve: FAILED with exit code 7, see "));
  EXPECT_THAT(run.out, HasSubstr("the GPU is on fire\n"));
  EXPECT_THAT(run.out, EndsWith("0 passed, 1 failed, 0 skipped\n"));
  EXPECT_EQ(Run("--gpu").exit_code, 2);
}

}  // namespace
}  // namespace whetstone
