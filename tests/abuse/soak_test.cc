// Candidates come in a row, as a young campaign sends them: some faster, some equal, many wrong or
// not to compile, and every tenth hostile. Afterwards nothing may be left, and the last must not
// have taken longer than the first. There are 500; WHETSTONE_SOAK=10000 (tests/run_all.sh --full)
// sends more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "cpu_bench_worker/problem/test_problems.h"
#include "cpu_bench_worker/stats/statistics.h"
#include "sandbox/cgroup_files.h"
#include "tests/abuse/abuse_testing.h"

namespace whetstone {
namespace {

constexpr char kWrong[] =
    "void matmul(const float* a, const float*, float* c, int) { c[0] = a[0]; }";
constexpr char kBroken[] =
    "void matmul(const float* a, const float* b, float* c, int n) { return c }";

// Counts the control groups of this process, in every hierarchy, their files included.
int64_t CountGroups() {
  const CgroupHome home =
      ParseCgroupHome(*ReadFile("/proc/self/mountinfo"), *ReadFile("/proc/self/cgroup"));
  std::vector<std::string> homes = {home.v2};
  for (const auto& [controller, folder] : home.v1) homes.push_back(folder);
  int64_t count = 0;
  for (const std::string& folder : homes) {
    count += CountBelow(absl::StrCat(folder, "/", CgroupFolderName(getpid())));
  }
  return count;
}

int64_t StatusKb(const std::string& key) {
  const std::string status = *ReadFile("/proc/self/status");
  const size_t at = status.find("\n" + key + ":");
  return at == std::string::npos ? 0 : std::atoll(status.c_str() + at + key.size() + 2);
}

struct Kind {
  const char* name;
  v1::Outcome outcome;
  std::string source;
};

// Returns candidate `i` of the honest nine in ten; each differs from all others in its object.
Kind HonestKind(int i) {
  const auto tagged = [i](const char* source) {
    return absl::StrReplaceAll(
        source, {{"int n) {\n", absl::StrCat("int n) {\n    if (n < 0) c[0] = ", i, ";\n")}});
  };
  switch (i % 10) {
    case 1:
      return {"faster", v1::CORRECT, tagged(kMatmulIkj)};
    case 2:
      return {"equal", v1::CORRECT, tagged(kMatmulIjk)};
    case 3:
    case 5:
    case 7:
    case 9:
      return {"wrong", v1::WRONG_ANSWER, absl::StrReplaceAll(kWrong, {{"a[0]", absl::StrCat(i)}})};
    default:
      return {"broken", v1::COMPILE_ERROR, absl::StrCat(kBroken, "  // ", i)};
  }
}

TEST(SoakTest, NothingIsLeftAndNothingSlowsDown) {
  const char* asked = std::getenv("WHETSTONE_SOAK");
  const int count = asked != nullptr ? std::atoi(asked) : 500;
  ASSERT_GE(count, 100) << "WHETSTONE_SOAK is a number of candidates";
  // The workers' folders are made in a folder of our own, so that whatever is left shows.
  const absl::StatusOr<TempDir> scratch = TempDir::Make("soak");
  ASSERT_TRUE(scratch.ok()) << scratch.status();
  setenv("TMPDIR", scratch->path().c_str(), /*overwrite=*/1);
  const std::vector<HostileProgram> hostile = HostilePrograms();
  Workers& workers = Workers::Get();
  Measurer* const measurers[2] = {workers.Of(false), workers.Of(true)};
  ASSERT_TRUE(measurers[0] != nullptr && measurers[1] != nullptr);
  for (const HostileProgram& program : hostile)
    for (Measurer* const measurer : measurers) workers.Put(measurer, program.problem);

  struct Left {
    std::string host;
    int64_t files, groups, threads, memory_kb;
  };
  const auto look = [&] {
    return Left{HostState(), CountBelow(scratch->path()), CountGroups(), StatusKb("Threads"),
                StatusKb("VmRSS")};
  };
  Left before;
  int late = 0;
  std::map<std::string, std::vector<double>> seconds;
  for (int i = 0; i < count; ++i) {
    // What is made once, and the caches' fill, belong to the first tenth.
    if (i == count / 10) before = look();
    const bool screened = i / 10 % 2 == 1;
    const auto start = std::chrono::steady_clock::now();
    if (i % 10 == 0) {
      // A step that has no divisor in common with the number of programs meets every kind early.
      const HostileProgram& program = hostile[static_cast<size_t>(i) / 10 * 53 % hostile.size()];
      SCOPED_TRACE(program.name);
      ExpectGetsNothing(program, screened, Path::kPrecise);
      continue;
    }
    const Kind kind = HonestKind(i);
    const v1::Verdict verdict =
        workers.Measure(measurers[screened], kind.source, "", Path::kCampaign);
    seconds[kind.name].push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (verdict.outcome() == v1::TIMEOUT) {
      ++late;
      continue;
    }
    EXPECT_EQ(v1::Outcome_Name(verdict.outcome()), v1::Outcome_Name(kind.outcome))
        << kind.name << ": " << verdict.detail();
  }
  EXPECT_LE(late, 2 + count / 1000) << "a stall of 0.3 s, on a busy machine";
  const Left after = look();
  EXPECT_EQ(after.host, before.host);
  EXPECT_EQ(after.files, before.files) << "entries below " << scratch->path();
  EXPECT_EQ(after.groups, before.groups) << "control groups and their files";
  EXPECT_EQ(after.threads, before.threads);
  // Each of the two workers remembers 2,048 verdicts and 8 MiB of objects.
  EXPECT_LT(after.memory_kb, before.memory_kb + 45'000) << "kB resident";
  std::printf("  %d candidates; resident %ld MB after a tenth, %ld MB at the end\n", count,
              before.memory_kb / 1024, after.memory_kb / 1024);
  for (const auto& [name, values] : seconds) {
    const auto fifth = static_cast<std::ptrdiff_t>(values.size() / 5);
    const double first = Median({values.begin(), values.begin() + fifth});
    const double last = Median({values.end() - fifth, values.end()});
    const double fastest = *std::min_element(values.end() - fifth, values.end());
    std::printf("  %-7s first fifth %.0f ms, last fifth %.0f ms, its fastest %.0f ms\n",
                name.c_str(), 1e3 * first, 1e3 * last, 1e3 * fastest);
    // What is left behind slows every candidate; other work on the machine spares some.
    EXPECT_LT(fastest, 2 * first) << name;
  }
}

}  // namespace
}  // namespace whetstone
