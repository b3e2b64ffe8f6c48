// What the sandbox's tests share: an inmate that does as it is told, and a fixture that looks for
// leftovers after each test.
#ifndef WHETSTONE_SANDBOX_SANDBOX_TESTING_H_
#define WHETSTONE_SANDBOX_SANDBOX_TESTING_H_

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "common/file.h"
#include "sandbox/sandbox.h"

namespace whetstone {

// Where this test's helper programs lie.
inline std::string OwnFolder() {
  char self[PATH_MAX] = {};
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  EXPECT_GT(size, 0);
  return std::filesystem::path(self).parent_path();
}

// A sandbox for sandbox_test_program with these arguments.
inline SandboxSpec Inmate(std::vector<std::string> args, Profile profile = Profile::kRun) {
  SandboxSpec spec;
  spec.profile = profile;
  spec.argv = {"/opt/inmate"};
  spec.argv.insert(spec.argv.end(), args.begin(), args.end());
  spec.binds = {{OwnFolder() + "/sandbox_test_program", "/opt/inmate"}};
  spec.limits.wall = std::chrono::milliseconds(20'000);
  if (profile == Profile::kRun) spec.limits.processes_max = 1;
  return spec;
}

inline SandboxResult MustRun(const SandboxSpec& spec) {
  absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : SandboxResult{};
}

// Our own mounts on the host: there may never be one. (Others mount things meanwhile.)
inline std::string HostMounts() {
  std::string ours;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find("whetstone") != std::string::npos) ours += line + "\n";
  }
  return ours;
}

// Direct children of this process, of any exit signal.
inline std::string Children() {
  std::string all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    all += ReadFile(task.path() / "children").value_or("");
  }
  return all;
}

inline constexpr uid_t kNobody = 65534;

// Runs this test program once more as "nobody", from a folder that everybody may read, with the
// `programs` beside it; what is left of root's rights is used by `first`, in the new process.
// Returns what went wrong, or "".
inline std::string RunSelfUnprivileged(
    std::vector<std::string> programs, const std::string& filter,
    const std::function<bool()>& first = [] { return true; }) {
  char folder[] = "/tmp/whetstone-nobody-XXXXXX";
  char self[PATH_MAX] = {};
  if (mkdtemp(folder) == nullptr || chmod(folder, 0755) != 0 ||
      readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) {
    return "no copy of this program could be made";
  }
  const std::string base(folder);
  programs.push_back(std::filesystem::path(self).filename());
  for (const std::string& name : programs) {
    std::filesystem::copy_file(OwnFolder() + "/" + name, base + "/" + name);
  }
  const std::string copy = base + "/" + programs.back();
  const std::string filter_flag = "--gtest_filter=" + filter;
  const pid_t pid = fork();
  if (pid == 0) {
    if (!first() || chdir("/") != 0 || setgroups(0, nullptr) != 0 ||
        setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) {
      _exit(3);
    }
    execl(copy.c_str(), copy.c_str(), filter_flag.c_str(), "--gtest_brief=1",
          "--gtest_output=", nullptr);
    _exit(4);
  }
  int status = 0;
  const bool waited = pid > 0 && waitpid(pid, &status, 0) == pid;
  std::filesystem::remove_all(base);
  if (waited && WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return "status " + std::to_string(status);
}

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mounts_ = HostMounts();
    children_ = Children();
  }
  // Nothing may be left, whatever the test did: no process, no mount.
  void TearDown() override {
    EXPECT_EQ(HostMounts(), mounts_);
    EXPECT_EQ(Children(), children_);
  }

 private:
  std::string mounts_;
  std::string children_;
};

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_SANDBOX_TESTING_H_
