// What pages name is there, be it a test, a program or a file.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tidy/tree.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns the tests of one source by the names that pages give them: "Suite.Name" of GoogleTest's,
// and "program.function" of a conformance script's cases.
std::set<std::string> TestNames(const SourceFile& file) {
  std::set<std::string> names;
  const bool script = absl::StartsWith(file.path, "tests/conformance/");
  const std::string stem = std::filesystem::path(file.path).stem().string();
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::string_view line = lines[i];
    if (script && i > 0 && lines[i - 1] == "@case" && absl::ConsumePrefix(&line, "def ")) {
      names.insert(absl::StrCat(stem, ".", line.substr(0, line.find('('))));
    }
    for (const char* macro : {"TEST(", "TEST_F(", "TEST_P("}) {
      if (!absl::ConsumePrefix(&line, macro)) continue;
      const std::vector<std::string> parts =
          absl::StrSplit(line.substr(0, line.find(')')), absl::ByAnyChar(", "), absl::SkipEmpty());
      if (parts.size() == 2) names.insert(absl::StrCat(parts[0], ".", parts[1]));
    }
  }
  return names;
}

// Every test that the table of docs/conformance.md names (in backticks, with a dot) is there.
std::vector<std::string> CheckNamedTests(const SourceFile& page,
                                         const std::set<std::string>& tests) {
  std::vector<std::string> problems;
  const std::vector<std::string> lines = Lines(page.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!absl::StartsWith(lines[i], "|")) continue;
    const std::vector<std::string> parts = absl::StrSplit(lines[i], '`');
    for (size_t p = 1; p < parts.size(); p += 2) {  // This stands between two backticks.
      if (absl::StrContains(parts[p], '.') && tests.count(parts[p]) == 0) {
        problems.push_back(At(page, i + 1, absl::StrCat("names no test: ", parts[p])));
      }
    }
  }
  return problems;
}

constexpr int kAbuseLines = 69;

// The table of docs/security.md has a row for every line of the checklist; its third column names
// programs of tests/abuse that say they try that line (`programs`: name → its "// checklist:"
// line). Whatever the page calls `SomethingTest.Name` is a test.
std::vector<std::string> CheckAbuseTable(const SourceFile& page,
                                         const std::map<std::string, std::string>& programs,
                                         const std::set<std::string>& tests) {
  std::vector<std::string> problems;
  std::set<int> seen;
  const std::vector<std::string> lines = Lines(page.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& name : Quoted(lines[i])) {
      if (absl::StrContains(name, "Test.") && tests.count(name) == 0) {
        problems.push_back(At(page, i + 1, absl::StrCat("names no test: ", name)));
      }
    }
    const std::vector<std::string> cells = absl::StrSplit(lines[i], " | ");
    int number = 0;
    if (cells.size() != 4 || !absl::SimpleAtoi(absl::StripPrefix(cells[0], "| "), &number))
      continue;
    seen.insert(number);
    const std::vector<std::string> named = Quoted(cells[2]);
    if (named.empty()) problems.push_back(At(page, i + 1, "no program tries it"));
    for (const std::string& name : named) {
      const auto program = programs.find(name);
      if (program == programs.end() || !HasWord(program->second, absl::StrCat(number), false)) {
        problems.push_back(At(page, i + 1, absl::StrCat("no program that tries it: ", name)));
      }
    }
  }
  for (int number = 1; number <= kAbuseLines; ++number) {
    if (seen.count(number) == 0) problems.push_back(At(page, 1, absl::StrCat("no row ", number)));
  }
  return problems;
}

// What stands in backticks and looks like a file ("a/b.cc", with a folder of the tree) is one.
std::vector<std::string> CheckNamedFiles(const SourceFile& page,
                                         const std::set<std::string>& paths) {
  std::vector<std::string> problems;
  const std::vector<std::string> lines = Lines(page.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& name : Quoted(lines[i])) {
      const bool ours = std::any_of(std::begin(kFolders), std::end(kFolders), [&](const char* f) {
        return absl::StartsWith(name, absl::StrCat(f, "/"));
      });
      if (!ours || absl::StrContains(name, " ") || absl::StrContains(name, "*")) continue;
      const bool there =
          absl::EndsWith(name, "/")
              ? std::any_of(paths.begin(), paths.end(),
                            [&](const std::string& path) { return absl::StartsWith(path, name); })
              : paths.count(name) > 0;
      if (!there) problems.push_back(At(page, i + 1, absl::StrCat("names no file: ", name)));
    }
  }
  return problems;
}

TEST(ArchitectureTest, ThePageNamesFilesThatExist) {
  const SourceFile& page = FileOf("docs/architecture.md");
  EXPECT_THAT(CheckNamedFiles(page, TreePaths()), IsEmpty());
  // On the ways of the data every hop is a file.
  for (const char* way : {"### A campaign's step", "### *Generate*", "### *Update*",
                          "### A checkpoint", "### A verdict"}) {
    const size_t begin = page.text.find(way);
    ASSERT_NE(begin, std::string::npos) << way;
    const std::string section = page.text.substr(begin, page.text.find("\n#", begin) - begin);
    int hops = 0;
    for (const std::string& line : Lines(section)) {
      if (absl::StartsWith(line, "1. ")) {
        ++hops;
        EXPECT_FALSE(Quoted(line).empty()) << "a hop without a file: " << line;
      }
    }
    EXPECT_GE(hops, 5) << way;
  }
  EXPECT_THAT(
      CheckNamedFiles({"docs/a.md", "`common/a.cc`, `common/`, `common/x/`\n"}, {"common/b.cc"}),
      SizeIs(2));
}

TEST(ConformanceTest, ThePageNamesTestsThatExist) {
  std::set<std::string> tests;
  SourceFile page;
  for (const SourceFile& file : Tree()) {
    if (file.path == "docs/conformance.md") page = file;
    const std::set<std::string> names = TestNames(file);
    tests.insert(names.begin(), names.end());
  }
  ASSERT_FALSE(page.text.empty());
  EXPECT_THAT(CheckNamedTests(page, tests), IsEmpty());
  EXPECT_THAT(TestNames({"a_test.cc", "TEST_P(A, B) {\nTEST(C,\n"}), ElementsAre("A.B"));
  EXPECT_THAT(TestNames({"tests/conformance/x.py", "@case\ndef y():\ndef z():\n"}),
              ElementsAre("x.y"));
  EXPECT_THAT(CheckNamedTests({"docs/a.md", "| a line | `A.B`, `A.C` |\n"}, {"A.B"}), SizeIs(1));
}

TEST(SecurityTest, ThePageNamesProgramsAndTestsThatExist) {
  std::set<std::string> tests;
  std::map<std::string, std::string> programs;
  SourceFile page;
  for (const SourceFile& file : Tree()) {
    if (file.path == "docs/security.md") page = file;
    const std::set<std::string> names = TestNames(file);
    tests.insert(names.begin(), names.end());
    absl::string_view name = file.path;
    if (!absl::ConsumePrefix(&name, "tests/abuse/programs/")) continue;
    for (const std::string& line : Lines(file.text)) {
      if (absl::StartsWith(line, "// checklist: ")) {
        programs[std::string(absl::StripSuffix(name, ".cc"))] = line;
      }
    }
  }
  ASSERT_FALSE(page.text.empty());
  EXPECT_THAT(CheckAbuseTable(page, programs, tests), IsEmpty());
  const auto check = [](const char* row) {
    return CheckAbuseTable({"a.md", row}, {{"p", "// checklist: 3, 14"}}, {"ATest.B"});
  };
  EXPECT_THAT(check("| 14 | t | `p` | `ATest.B` |\n"), SizeIs(kAbuseLines - 1));
  EXPECT_THAT(check("| 1 | t | `p` | `ATest.B` |\n"), SizeIs(kAbuseLines));
  EXPECT_THAT(check("| 14 | t | `p` | `ATest.C` |\n"), SizeIs(kAbuseLines));
  EXPECT_THAT(check("| 14 | t |  |  |\n"), SizeIs(kAbuseLines));
}

}  // namespace
}  // namespace whetstone
