// These are rules of one file's text: guards, sizes, words that mark unfinished work, lists of
// sources, links. Each is tried on a bad example as well.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/tree_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tidy/tree.h"

namespace whetstone {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kLinesMax = 400;
constexpr size_t kLinesMaxLong = 600;
constexpr const char* kWhyLong = "Over 400 lines: ";

std::vector<std::string> CheckGuard(const SourceFile& file) {
  if (!HasExtension(file.path, {".h", ".cuh"})) return {};
  const std::string guard = absl::StrCat(
      "WHETSTONE_", absl::AsciiStrToUpper(absl::StrReplaceAll(file.path, {{"/", "_"}, {".", "_"}})),
      "_");
  if (absl::StrContains(file.text, absl::StrCat("#ifndef ", guard, "\n#define ", guard, "\n")) &&
      absl::EndsWith(file.text, absl::StrCat("#endif  // ", guard, "\n"))) {
    return {};
  }
  return {At(file, 1, absl::StrCat("lacks the include guard ", guard))};
}

std::vector<std::string> CheckOwnHeaderFirst(const SourceFile& file,
                                             const std::set<std::string>& paths) {
  if (!absl::EndsWith(file.path, ".cc")) return {};
  std::string stem(absl::StripSuffix(file.path, ".cc"));
  if (paths.count(stem + ".h") == 0) return {};
  const std::vector<Include> includes = Includes(file);
  if (!includes.empty() && includes.front().path == stem + ".h") return {};
  return {At(file, 1, absl::StrCat("does not include ", stem, ".h first"))};
}

// A source has at most 400 lines, or a sentence in the comment it begins with that says why not;
// nothing, tests and scripts included, has more than 600.
std::vector<std::string> CheckSize(const SourceFile& file) {
  if (!IsCpp(file.path) && !HasExtension(file.path, {".py", ".sh", ".proto"})) return {};
  const size_t lines = Lines(file.text).size();
  const std::string head = file.text.substr(0, ("\n" + file.text).find("\n#"));
  const bool may_be_long =
      !IsCpp(file.path) || IsTest(file.path) || absl::StrContains(head, kWhyLong);
  const size_t lines_max = may_be_long ? kLinesMaxLong : kLinesMax;
  if (lines <= lines_max) return {};
  return {At(file, lines, absl::StrCat("more than ", lines_max, " lines"))};
}

// These whole words mark work left undone. They are put together here so that this file does not
// hold them.
const std::vector<std::string>& BannedWords() {
  static const auto* words = new std::vector<std::string>{
      std::string("TO") + "DO", std::string("FIX") + "ME", std::string("X") + "XX"};
  return *words;
}
// These are prefixes of words that mark tests switched off.
const std::vector<std::string>& BannedPrefixes() {
  static const auto* words = new std::vector<std::string>{std::string("DISA") + "BLED_"};
  return *words;
}

std::vector<std::string> CheckWords(const SourceFile& file) {
  std::vector<std::string> problems;
  if (HasExtension(file.path, {".jsonl"})) return problems;  // It is data.
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& word : BannedWords()) {
      if (HasWord(lines[i], word, /*prefix=*/false)) {
        problems.push_back(At(file, i + 1, absl::StrCat("says ", word)));
      }
    }
    for (const std::string& word : BannedPrefixes()) {
      if (HasWord(lines[i], word, /*prefix=*/true)) {
        problems.push_back(At(file, i + 1, absl::StrCat("says ", word)));
      }
    }
  }
  return problems;
}

// A case that can not be tried says why not: tests/run_all.sh lists the reasons.
std::vector<std::string> CheckSkips(const SourceFile& file) {
  static const auto* skip = new std::string(std::string("GTEST") + "_SKIP");
  std::vector<std::string> problems;
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (IsCpp(file.path) && HasWord(lines[i], *skip, /*prefix=*/false) &&
        !absl::StrContains(lines[i], absl::StrCat(*skip, "() << "))) {
      problems.push_back(At(file, i + 1, "skips without a reason"));
    }
  }
  return problems;
}

// A case that returns early counts as passed although it tried nothing. Of a test's own statements,
// which clang-format indents by two, none may do so but after a failure.
std::vector<std::string> CheckEarlyReturns(const SourceFile& file) {
  std::vector<std::string> problems;
  if (!absl::EndsWith(file.path, "_test.cc")) return problems;
  bool in_case = false;
  std::string statement;  // the last one begun
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (absl::StartsWith(line, "TEST")) in_case = true;
    if (line == "}") in_case = false;
    if (!in_case) continue;
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent == 2) statement = line;
    const bool own = indent == 2 || (indent == 4 && absl::StartsWith(statement, "  if ("));
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    const bool returns = absl::StartsWith(text, "return;") ||
                         (absl::StartsWith(text, "if (") && absl::StrContains(text, ") return;"));
    if (own && returns && !absl::StrContains(statement, "Failure())")) {
      problems.push_back(
          At(file, i + 1, "returns early and counts as passed: skip it with a reason"));
    }
  }
  return problems;
}

// What sleeps for a while hopes that something has happened meanwhile, and on a busy machine it has
// not: tests wait for what they need, with Eventually of common/eventually_testing.h.
std::vector<std::string> CheckSleeps(const SourceFile& file) {
  static const auto* calls = new std::vector<std::string>{"sleep",  "sleep_for", "sleep_until",
                                                          "usleep", "nanosleep", "SleepFor"};
  std::vector<std::string> problems;
  // What tests start and watch may sleep.
  const bool watched = absl::StartsWith(file.path, "tests/abuse/programs/") ||
                       absl::StrContains(file.path, "_test_program.") ||
                       absl::StrContains(file.path, "/test_service_main.");
  if (!IsTest(file.path) || watched || file.path == "common/eventually_testing.h") return problems;
  const bool script = HasExtension(file.path, {".sh"});
  if (!script && !IsCpp(file.path) && !HasExtension(file.path, {".py"})) return problems;
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const bool sleeps =
        std::any_of(calls->begin(), calls->end(),
                    [&](const std::string& call) {
                      return HasWord(line, absl::StrCat(call, "("), /*prefix=*/true);
                    }) ||
        (script && !absl::StartsWith(line, "#") && HasWord(line, "sleep", /*prefix=*/false));
    if (sleeps) problems.push_back(At(file, i + 1, "sleeps: wait for what is needed instead"));
  }
  return problems;
}

// A source that no CMakeLists.txt of its folder or one above names is never built: a test in it is
// switched off without a trace.
std::vector<std::string> CheckListed(const SourceFile& file,
                                     const std::map<std::string, std::string>& cmake_lists) {
  if (!HasExtension(file.path, {".cc", ".cu"})) return {};
  // These are texts for the model to learn from, and hostile candidates: they are read, never built
  // into anything.
  for (const char* folder : {"prompts/", "tests/abuse/programs/"}) {
    if (absl::StartsWith(file.path, folder)) return {};
  }
  const std::filesystem::path path = file.path;
  for (auto folder = path.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    const auto found = cmake_lists.find((folder / "CMakeLists.txt").string());
    if (found == cmake_lists.end()) continue;
    for (absl::string_view word :
         absl::StrSplit(found->second, absl::ByAnyChar(" \t\n()\""), absl::SkipEmpty())) {
      if (absl::StrCat(folder.string(), "/", word) == file.path ||
          absl::EndsWith(word, absl::StrCat("/", file.path))) {
        return {};
      }
    }
  }
  return {At(file, 1, "is listed in no CMakeLists.txt")};
}

// Relative links of a page lead somewhere. What looks like one in code is a lambda.
std::vector<std::string> CheckLinks(const SourceFile& file, const std::filesystem::path& root) {
  std::vector<std::string> problems;
  if (!HasExtension(file.path, {".md"})) return problems;
  const std::vector<std::string> lines = Lines(file.text);
  bool code = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (absl::StartsWith(lines[i], "```")) code = !code;
    if (code) continue;
    for (size_t at = lines[i].find("]("); at != std::string::npos;
         at = lines[i].find("](", at + 1)) {
      const size_t end = lines[i].find(')', at);
      if (end == std::string::npos) continue;
      const std::string link = lines[i].substr(at + 2, end - at - 2);
      const std::string path = link.substr(0, link.find('#'));
      if (path.empty() || absl::StrContains(path, "://")) continue;
      const auto target = root / std::filesystem::path(file.path).parent_path() / path;
      if (!std::filesystem::exists(target)) {
        problems.push_back(At(file, i + 1, absl::StrCat("the link leads nowhere: ", link)));
      }
    }
  }
  return problems;
}

TEST(TreeTest, HoldsTheProject) {
  const std::set<std::string> paths = TreePaths();
  for (const char* path : {"common/server.cc", "sandbox/sandbox.h", "tests/tidy/tree.cc",
                           "proto/whetstone/v1/campaign.proto"}) {
    EXPECT_EQ(paths.count(path), 1u) << path << " not found under " << SourceDir();
  }
}

TEST(GuardTest, EveryHeaderHasItsOwn) {
  EXPECT_THAT(CheckTree(CheckGuard), IsEmpty());
  EXPECT_THAT(CheckGuard({"common/a.h", "#pragma once\n"}), SizeIs(1));
}

TEST(OwnHeaderTest, ComesFirst) {
  const std::set<std::string> paths = TreePaths();
  EXPECT_THAT(CheckTree([&](const SourceFile& file) { return CheckOwnHeaderFirst(file, paths); }),
              IsEmpty());
  EXPECT_THAT(CheckOwnHeaderFirst({"a/b.cc", "#include <map>\n#include \"a/b.h\"\n"}, {"a/b.h"}),
              SizeIs(1));
}

TEST(SizeTest, FilesStayReadable) {
  EXPECT_THAT(CheckTree(CheckSize), IsEmpty());
  const std::string lines(kLinesMax + 1, '\n');
  EXPECT_THAT(CheckSize({"a.cc", lines}), SizeIs(1));
  EXPECT_THAT(CheckSize({"a.cc", "#include <a>\n// Over 400 lines: why\n" + lines}), SizeIs(1));
  EXPECT_THAT(CheckSize({"a.cc", "// Over 400 lines: one grammar.\n#include <a>\n" + lines}),
              IsEmpty());
  EXPECT_THAT(CheckSize({"a_test.cc", lines}), IsEmpty());
  EXPECT_THAT(CheckSize({"a_test.cc", lines + lines}), SizeIs(1));
}

TEST(WordsTest, NothingIsSwitchedOffOrLeftUndone) {
  EXPECT_THAT(CheckTree(CheckWords), IsEmpty());
  EXPECT_THAT(CheckWords({"a.cc", absl::StrCat("TEST(A, ", BannedPrefixes()[0], "B)\n")}),
              SizeIs(1));
  EXPECT_THAT(CheckWords({"a.cc", absl::StrCat("// ", BannedWords()[1], ": later\n")}), SizeIs(1));
  EXPECT_THAT(CheckWords({"a.cc", "mkdtemp(\"/tmp/whet.XXXXXX\")\n"}), IsEmpty());
}

TEST(SkipsTest, HaveAReason) {
  EXPECT_THAT(CheckTree(CheckSkips), IsEmpty());
  const std::string skip = std::string("GTEST") + "_SKIP()";
  EXPECT_THAT(CheckSkips({"a_test.cc", absl::StrCat("  if (!gpu) ", skip, ";\n")}), SizeIs(1));
  EXPECT_THAT(CheckSkips({"a_test.cc", absl::StrCat("  ", skip, " << why;\n")}), IsEmpty());
}

TEST(EarlyReturnTest, NoCasePassesUntried) {
  EXPECT_THAT(CheckTree(CheckEarlyReturns), IsEmpty());
  const auto of = [](const std::string& body) {
    return CheckEarlyReturns({"a_test.cc", absl::StrCat("TEST(A, B) {\n", body, "}\n")});
  };
  EXPECT_THAT(of("  if (!gpu) return;\n  EXPECT_TRUE(f());\n"), SizeIs(1));
  EXPECT_THAT(of("  if (!gpu) {\n    Say();\n    return;\n  }\n"), SizeIs(1));
  EXPECT_THAT(of("  Run([&] {\n    if (x) return;\n    return;\n  });\n"), IsEmpty());
  EXPECT_THAT(of("  if (HasFatalFailure()) return;\n"), IsEmpty());
  EXPECT_THAT(CheckEarlyReturns({"a_test.cc", "void Help() {\n  if (x) return;\n}\n"}), IsEmpty());
}

TEST(SleepTest, TestsWaitForWhatTheyNeed) {
  EXPECT_THAT(CheckTree(CheckSleeps), IsEmpty());
  const std::string call = "sleep_for";
  EXPECT_THAT(CheckSleeps({"a_test.cc", absl::StrCat("  std::this_thread::", call, "(ms);\n")}),
              SizeIs(1));
  EXPECT_THAT(CheckSleeps({"tests/a.py", absl::StrCat("    time.", "sleep", "(1)\n")}), SizeIs(1));
  EXPECT_THAT(CheckSleeps({"tests/a.sh", "# sleep\nsleep 1\n"}), SizeIs(1));
  EXPECT_THAT(CheckSleeps({"a_test.cc", "options.argv = {\"sleep\", \"60\"};\n"}), IsEmpty());
  EXPECT_THAT(CheckSleeps({"a.cc", absl::StrCat("  std::this_thread::", call, "(ms);\n")}),
              IsEmpty());
}

TEST(LinksTest, LeadSomewhere) {
  const std::filesystem::path root = SourceDir();
  EXPECT_THAT(CheckTree([&](const SourceFile& file) { return CheckLinks(file, root); }), IsEmpty());
  EXPECT_THAT(CheckLinks({"docs/a.md", "see [b](no_such_page.md#x)\n"}, root), SizeIs(1));
  EXPECT_THAT(CheckLinks({"docs/a.md", "[x](../tests/run_all.sh) [y](#z)\n"}, root), IsEmpty());
  EXPECT_THAT(CheckLinks({"docs/a.md", "```cpp\n[x](int i) {}\n```\n[x](y.md)\n"}, root),
              SizeIs(1));
}

TEST(ListedTest, EverySourceIsBuilt) {
  std::map<std::string, std::string> lists;
  for (const SourceFile& file : Tree()) {
    if (absl::EndsWith(file.path, "CMakeLists.txt")) lists[file.path] = file.text;
  }
  EXPECT_THAT(CheckTree([&](const SourceFile& file) { return CheckListed(file, lists); }),
              IsEmpty());
  EXPECT_THAT(CheckListed({"a/b_test.cc", ""}, {{"a/CMakeLists.txt", "SRCS b.cc"}}), SizeIs(1));
  EXPECT_THAT(CheckListed({"a/b_test.cc", ""}, {{"a/CMakeLists.txt", "SRCS b_test.cc)"}}),
              IsEmpty());
}

}  // namespace
}  // namespace whetstone
