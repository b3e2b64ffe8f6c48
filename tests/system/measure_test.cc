// `whet measure` measures one program by hand; it prints one JSON object, and its exit code tells
// whose fault it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

std::string Problem() { return SourceDir() + "/tests/system/multiply.md"; }

class MeasureTest : public WhetTest {
 protected:
  // What is kept is kept for one test only.
  void SetUp() override {
    WhetTest::SetUp();
    setenv("XDG_CACHE_HOME", Path("cache").c_str(), 1);
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  WhetResult Measure(const std::string& source) {
    EXPECT_TRUE(WriteFileAtomically(Path("candidate.cc"), source).ok());
    // The umask is as strict as an operator may have it: candidates and compilers are other users.
    const mode_t before = umask(077);
    const WhetResult result = Whet({"measure", Problem(), Path("candidate.cc"), "--json"});
    umask(before);
    return result;
  }
};

TEST_F(MeasureTest, FastProgramIsCorrectAndHasEveryKey) {
  const WhetResult result = Measure(R"(
    void multiply(const float* a, const float* b, float* c, int n) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) c[i * n + j] = 0;
        for (int k = 0; k < n; ++k)
          for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
      }
    })");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const nlohmann::json verdict = result.json();
  ASSERT_TRUE(verdict.is_object()) << result.out;
  for (const char* key : {"outcome", "reward", "speedup", "speedup_low", "speedup_high", "sizes",
                          "detail", "isolation"}) {
    EXPECT_TRUE(verdict.contains(key)) << key;
  }
  EXPECT_EQ(verdict["outcome"], "CORRECT");
  EXPECT_GT(verdict["speedup"].get<double>(), 1.2);
  EXPECT_LE(verdict["speedup_low"].get<double>(), verdict["speedup"].get<double>());
  EXPECT_GE(verdict["speedup_high"].get<double>(), verdict["speedup"].get<double>());
  EXPECT_GT(verdict["reward"].get<double>(), 0.3);
}

TEST_F(MeasureTest, TheCalibrationIsKeptFromOneProcessToTheNext) {
  const std::string slow =
      "void multiply(const float*, const float*, float* c, int n) { c[0] = n; }";
  const auto measured = [&](std::vector<std::string> options) {
    EXPECT_TRUE(WriteFileAtomically(Path("candidate.cc"), slow).ok());
    options.insert(options.begin(), {"measure", Problem(), Path("candidate.cc"), "--json"});
    const WhetResult result = Whet(options);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result;
  };
  const WhetResult first = measured({});
  EXPECT_EQ(first.json()["calibration_age_s"], 0) << first.out;
  const WhetResult second = measured({});
  EXPECT_GT(second.json()["calibration_age_s"].get<double>(), 0) << second.out;
  EXPECT_EQ(second.json()["expert_speedup"], first.json()["expert_speedup"]);
  EXPECT_THAT(second.err, HasSubstr(" ago kept; --fresh measures it anew"));
  const WhetResult fresh = measured({"--fresh"});
  EXPECT_EQ(fresh.json()["calibration_age_s"], 0) << fresh.out;
  EXPECT_NE(fresh.json()["expert_speedup"], first.json()["expert_speedup"]);
}

TEST_F(MeasureTest, BadProgramsAreVerdictsNotErrors) {
  const struct {
    const char* source;
    const char* outcome;
  } kCases[] = {
      {"int other(int n) { return n; }", "NO_CODE"},
      {"void multiply(const float* a, const float* b, float* c, int n) { oops }", "COMPILE_ERROR"},
      {"void multiply(const float*, const float*, float* c, int n) { *(volatile int*)8 = n; }",
       "CRASH"},
      {"void multiply(const float*, const float*, float* c, int n) { c[0] = 1; (void)n; }",
       "WRONG_ANSWER"},
  };
  for (const auto& c : kCases) {
    const WhetResult result = Measure(c.source);
    EXPECT_EQ(result.exit_code, 0) << c.source << "\n" << result.err;
    EXPECT_EQ(result.json()["outcome"], c.outcome) << result.out;
    EXPECT_LT(result.json()["reward"].get<double>(), 0) << result.out;
  }
}

TEST_F(MeasureTest, AListIsMeasuredOnOneWorkerAndWhatIsWrongIsSaid) {
  std::ofstream(Path("right.cc")) << R"(
    void multiply(const float* a, const float* b, float* c, int n) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) c[i * n + j] = 0;
        for (int k = 0; k < n; ++k)
          for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
      }
    })";
  std::ofstream(Path("wrong.cc")) << "void multiply(const float*, const float*, float* c, int n) {"
                                     " c[0] = n; }";
  const auto line = [&](const std::string& id, const std::string& candidate) {
    return nlohmann::json({{"id", id}, {"problem", Problem()}, {"candidate", Path(candidate)}})
               .dump() +
           "\n";
  };
  std::ofstream(Path("list.jsonl")) << line("a", "right.cc") << line("b", "none.cc") << "\n"
                                    << line("c", "wrong.cc");
  const WhetResult result = Whet({"measure", "--list", Path("list.jsonl"), "--json"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  std::vector<nlohmann::json> verdicts;
  std::istringstream lines(result.out);
  for (std::string text; std::getline(lines, text);)
    verdicts.push_back(nlohmann::json::parse(text));
  ASSERT_EQ(verdicts.size(), 3u) << result.out;
  EXPECT_EQ(verdicts[0]["id"], "a");
  EXPECT_EQ(verdicts[0]["outcome"], "CORRECT");
  EXPECT_GT(verdicts[0]["speedup"].get<double>(), 1.2);
  EXPECT_THAT(verdicts[1]["error"].get<std::string>(), HasSubstr("none.cc"));
  EXPECT_EQ(verdicts[2]["outcome"], "WRONG_ANSWER");
}

TEST_F(MeasureTest, ABrokenListIsRefusedBeforeAnythingIsMeasured) {
  const struct {
    const char* line;
    const char* message;
  } kCases[] = {
      {"{\"problem\": ", "list.jsonl:2: must be one JSON object"},
      {"{\"problem\": \"p.md\"}", "list.jsonl:2: 'problem' or 'candidate' is missing"},
      {"{\"problme\": \"p.md\"}",
       "list.jsonl:2: 'problme' must be id, problem or candidate, a string"},
      {"{\"candidate\": 3}",
       "list.jsonl:2: 'candidate' must be id, problem or candidate, a string"},
  };
  for (const auto& c : kCases) {
    std::ofstream(Path("list.jsonl")) << "{\"problem\": \"p.md\", \"candidate\": \"c.cc\"}\n"
                                      << c.line << "\n";
    const WhetResult result = Whet({"measure", "--list", Path("list.jsonl"), "--json"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(c.message));
  }
  EXPECT_EQ(Whet({"measure", Problem(), Path("c.cc"), "--list", Path("list.jsonl")}).exit_code, 2);
}

TEST_F(MeasureTest, WrongInputIsExitCodeTwo) {
  const WhetResult missing = Whet({"measure", Problem(), Path("none.cc"), "--json"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.cc"));
  EXPECT_EQ(Whet({"measure", Path("none.md"), Path("none.cc")}).exit_code, 2);
  std::ofstream(Path("latin1.cc")) << "int x;\n// caf\xe9\n";
  const WhetResult latin1 = Whet({"measure", Problem(), Path("latin1.cc")});
  EXPECT_EQ(latin1.exit_code, 2);
  EXPECT_THAT(latin1.err, HasSubstr("latin1.cc:2: not valid UTF-8"));
  EXPECT_EQ(Whet({"measure", Problem()}).exit_code, 2);
}

}  // namespace
}  // namespace whetstone
