// RewriteTest: what rules make of a function f, as tests of rules look at it.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_REWRITE_TESTING_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_REWRITE_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/file.h"
#include "cpu_bench_worker/rewrite/rewrite.h"
#include "cpu_bench_worker/screen/parse.h"

namespace whetstone {

inline const std::vector<std::string> kFlags = {"-std=c++20"};

class RewriteTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto dir = TempDir::Make("rewrite");
    ASSERT_TRUE(dir.ok());
    dir_ = new TempDir(std::move(*dir));
    const std::string header = dir_->path() + "/allowed.h";
    std::ofstream(header) << "#include <algorithm>\n#include <cstddef>\n#include <math.h>\n";
    ASSERT_EQ(PrecompileHeader(kFlags, header), "");
    pch_ = new std::string(header + ".pch");
  }
  static void TearDownTestSuite() {
    delete pch_;
    delete dir_;
  }

  // All rewrites of f, each of which has to compile; or those by one rule.
  // `lengths` are those of arrays, where a rule asks for them.
  static Rewrites Of(const std::string& source, const std::string& rule = "",
                     const std::map<std::string, std::string>& lengths = {}) {
    Rewrites rewrites = RewriteProgram(kFlags, *pch_, "f", source, &refused_, lengths);
    if (!rule.empty()) std::erase_if(rewrites, [&](const Rewrite& r) { return r.rule != rule; });
    for (const Rewrite& rewrite : rewrites) {
      const ScreenFindings findings = ParseProgram(kFlags, *pch_, ScreenRules{}, rewrite.source);
      EXPECT_THAT(findings.errors, testing::IsEmpty()) << rewrite.rule << "\n" << rewrite.source;
    }
    return rewrites;
  }
  static std::vector<std::string> Rules(const std::string& source) {
    std::vector<std::string> rules;
    for (const Rewrite& rewrite : Of(source)) rules.push_back(rewrite.rule);
    return rules;
  }
  // Whether a rule fits; nothing that is made is compiled.
  static bool Fits(const std::string& rule, const std::string& source) {
    bool fits = false;
    for (const Rewrite& each : RewriteProgram(kFlags, *pch_, "f", source, &refused_))
      fits |= each.rule == rule;
    EXPECT_EQ(refused_, "") << source;
    return fits;
  }
  // What one rule makes of it, in one line; empty if it does not fit.
  static std::string By(const std::string& rule, const std::string& source,
                        const std::map<std::string, std::string>& lengths = {}) {
    for (const Rewrite& rewrite : Of(source, rule, lengths)) {
      std::string line;
      for (const char c : rewrite.source) {
        if (c != '\n' && c != ' ') line += c;
        if ((c == '\n' || c == ' ') && !line.empty() && line.back() != ' ') line += ' ';
      }
      return line;
    }
    return "";
  }

  inline static TempDir* dir_ = nullptr;
  inline static std::string* pch_ = nullptr;
  inline static std::string refused_;  // why the last one was
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_REWRITE_TESTING_H_
