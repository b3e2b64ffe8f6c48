// The source tree's own rules, as tests that read it: who may include what, guards, sizes, words
// that mark unfinished work. Each rule is a function of one file, tried on a bad example as well.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
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

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kLinesMax = 600;

// Every folder that holds sources.
constexpr const char* kFolders[] = {"benchmarks", "common",  "coordinator", "cpu_bench_worker",
                                    "deploy",     "docs",    "gpu_trainer", "prompts",
                                    "proto",      "sandbox", "tests"};

// The folders whose headers a file may include: those of the longest prefix of its path. Generated
// protos are "whetstone/". benchmarks/ and tests/ may include everything.
const std::map<std::string, std::vector<std::string>>& AllowedIncludes() {
  static const auto* rules = new std::map<std::string, std::vector<std::string>>{
      {"common/", {"common/", "whetstone/"}},
      {"sandbox/", {"sandbox/", "common/"}},
      {"cpu_bench_worker/", {"cpu_bench_worker/", "sandbox/", "common/", "whetstone/"}},
      {"coordinator/", {"coordinator/", "common/", "whetstone/"}},
      {"coordinator/process/", {"coordinator/process/", "common/"}},
      {"coordinator/prompt/", {"coordinator/prompt/", "common/", "whetstone/"}},
      {"coordinator/tunnel/",
       {"coordinator/tunnel/", "coordinator/process/", "common/", "whetstone/"}},
      {"gpu_trainer/", {"gpu_trainer/", "common/", "whetstone/"}},
      {"gpu_trainer/tokenizer/", {"gpu_trainer/tokenizer/", "common/"}},
      {"gpu_trainer/profile/", {"gpu_trainer/profile/", "common/"}},
      {"gpu_trainer/ranks/", {"gpu_trainer/ranks/", "gpu_trainer/profile/", "common/"}},
      {"gpu_trainer/ops/", {"gpu_trainer/ops/", "gpu_trainer/profile/", "common/"}},
      {"gpu_trainer/model/", {"gpu_trainer/model/", "gpu_trainer/ops/", "common/"}},
      {"gpu_trainer/engine/",
       {"gpu_trainer/engine/", "gpu_trainer/profile/", "gpu_trainer/model/", "gpu_trainer/ops/",
        "gpu_trainer/tokenizer/", "common/", "whetstone/"}},
      {"gpu_trainer/grpo/",
       {"gpu_trainer/grpo/", "gpu_trainer/ranks/", "gpu_trainer/profile/", "gpu_trainer/model/",
        "gpu_trainer/ops/", "gpu_trainer/tokenizer/", "common/", "whetstone/"}},
      {"gpu_trainer/state/",
       {"gpu_trainer/state/", "gpu_trainer/grpo/", "gpu_trainer/ranks/", "gpu_trainer/engine/",
        "gpu_trainer/model/", "gpu_trainer/ops/", "gpu_trainer/tokenizer/", "common/",
        "whetstone/"}},
  };
  return *rules;
}

// Libraries with one home: an include that begins so is allowed in these folders only.
struct Home {
  const char* include;
  std::vector<std::string> folders;
};
const std::vector<Home>& Homes() {
  static const auto* homes = new std::vector<Home>{
      {"torch/", {"gpu_trainer/", "benchmarks/", "tests/conformance/"}},
      {"ATen/", {"gpu_trainer/", "benchmarks/"}},
      {"c10/", {"gpu_trainer/", "benchmarks/"}},
      {"cuda", {"gpu_trainer/"}},
      {"libssh/", {"coordinator/tunnel/"}},
      {"clang/", {"cpu_bench_worker/screen/"}},
      {"llvm/", {"cpu_bench_worker/screen/"}},
      {"sqlite3.h", {"coordinator/", "tests/system/"}},
      {"seccomp.h", {"sandbox/"}},
      {"grpcpp/",
       {"benchmarks/", "common/", "coordinator/", "cpu_bench_worker/", "gpu_trainer/rpc/",
        "gpu_trainer/main.cc", "tests/"}},
  };
  return *homes;
}

struct SourceFile {
  std::string path;  // Relative to the root of the tree.
  std::string text;
};

bool HasExtension(const std::string& path, const std::vector<std::string>& extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const std::string& e) { return absl::EndsWith(path, e); });
}

bool IsCpp(const std::string& path) { return HasExtension(path, {".cc", ".h", ".cu", ".cuh"}); }

SourceFile ReadSource(const std::filesystem::path& root, const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::filesystem::relative(path, root).string(),
          std::string(std::istreambuf_iterator<char>(in), {})};
}

std::vector<SourceFile> ReadTree() {
  const std::filesystem::path root = SourceDir();
  std::vector<SourceFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() == ".md") files.push_back(ReadSource(root, entry.path()));
  }
  for (const char* folder : kFolders) {
    if (!std::filesystem::exists(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || absl::StrContains(entry.path().string(), "__pycache__")) {
        continue;
      }
      files.push_back(ReadSource(root, entry.path()));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& Tree() {
  static const auto* files = new std::vector<SourceFile>(ReadTree());
  return *files;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

struct Include {
  size_t line = 0;
  std::string path;
  bool quoted = false;
};

std::vector<Include> Includes(const SourceFile& file) {
  std::vector<Include> includes;
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::string_view rest = lines[i];
    if (!absl::ConsumePrefix(&rest, "#include ") || rest.size() < 2) continue;
    const bool quoted = rest.front() == '"';
    const size_t end = rest.find(quoted ? '"' : '>', 1);
    if (end == absl::string_view::npos) continue;
    includes.push_back({i + 1, std::string(rest.substr(1, end - 1)), quoted});
  }
  return includes;
}

std::string At(const SourceFile& file, size_t line, absl::string_view message) {
  return absl::StrCat(file.path, ":", line, ": ", message);
}

std::vector<std::string> CheckIncludes(const SourceFile& file) {
  std::vector<std::string> problems;
  if (!IsCpp(file.path)) return problems;
  // The longest matching prefix is the last in the map's order among those that match.
  const std::vector<std::string>* allowed = nullptr;
  for (const auto& [folder, includes] : AllowedIncludes()) {
    if (absl::StartsWith(file.path, folder)) allowed = &includes;
  }
  for (const Include& include : Includes(file)) {
    const auto starts_with = [&](const std::string& prefix) {
      return absl::StartsWith(include.path, prefix);
    };
    const bool own = std::any_of(std::begin(kFolders), std::end(kFolders),
                                 [&](const char* f) { return starts_with(absl::StrCat(f, "/")); });
    if (allowed != nullptr && (own || starts_with("whetstone/")) &&
        std::none_of(allowed->begin(), allowed->end(), starts_with)) {
      problems.push_back(At(file, include.line, absl::StrCat("may not include ", include.path)));
    }
    for (const Home& home : Homes()) {
      if (starts_with(home.include) &&
          std::none_of(home.folders.begin(), home.folders.end(),
                       [&](const std::string& f) { return absl::StartsWith(file.path, f); })) {
        problems.push_back(
            At(file, include.line, absl::StrCat(include.path, " has its home elsewhere")));
      }
    }
    if (HasExtension(file.path, {".cu", ".cuh"}) &&
        (starts_with("torch/") || starts_with("ATen/") || starts_with("c10/"))) {
      problems.push_back(At(file, include.line, "a kernel file includes a LibTorch header"));
    }
  }
  return problems;
}

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

std::vector<std::string> CheckSize(const SourceFile& file) {
  if (!IsCpp(file.path) && !HasExtension(file.path, {".py", ".sh", ".proto"})) return {};
  const size_t lines = Lines(file.text).size();
  if (lines <= kLinesMax) return {};
  return {At(file, lines, absl::StrCat("more than ", kLinesMax, " lines"))};
}

// Whole words that mark tests switched off and work left undone. They are put together here so
// that this file does not hold them.
const std::vector<std::string>& BannedWords() {
  static const auto* words =
      new std::vector<std::string>{std::string("GTEST") + "_SKIP", std::string("TO") + "DO",
                                   std::string("FIX") + "ME", std::string("X") + "XX"};
  return *words;
}
// Prefixes of words.
const std::vector<std::string>& BannedPrefixes() {
  static const auto* words = new std::vector<std::string>{std::string("DISA") + "BLED_"};
  return *words;
}

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool HasWord(const std::string& line, const std::string& word, bool prefix) {
  for (size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !IsWordCharacter(line[at - 1]);
    const size_t end = at + word.size();
    const bool ends = prefix || end == line.size() || !IsWordCharacter(line[end]);
    if (starts && ends) return true;
  }
  return false;
}

std::vector<std::string> CheckWords(const SourceFile& file) {
  std::vector<std::string> problems;
  if (HasExtension(file.path, {".jsonl"})) return problems;  // Data.
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

// A source that no CMakeLists.txt of its folder or one above names is never built: a test in it is
// switched off without a trace.
std::vector<std::string> CheckListed(const SourceFile& file,
                                     const std::map<std::string, std::string>& cmake_lists) {
  if (!HasExtension(file.path, {".cc", ".cu"})) return {};
  // Texts for the model to learn from, and hostile candidates: read, never built into anything.
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

// Relative links of a page lead somewhere.
std::vector<std::string> CheckLinks(const SourceFile& file, const std::filesystem::path& root) {
  std::vector<std::string> problems;
  if (!HasExtension(file.path, {".md"})) return problems;
  const std::vector<std::string> lines = Lines(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
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

// The tests of one source by the names that pages give them: "Suite.Name" of GoogleTest's, and
// "program.function" of a conformance script's cases.
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
    for (size_t p = 1; p < parts.size(); p += 2) {  // what stands between two backticks
      if (absl::StrContains(parts[p], '.') && tests.count(parts[p]) == 0) {
        problems.push_back(At(page, i + 1, absl::StrCat("names no test: ", parts[p])));
      }
    }
  }
  return problems;
}

constexpr int kAbuseLines = 69;

// What stands between pairs of backticks.
std::vector<std::string> Quoted(const std::string& text) {
  std::vector<std::string> quoted;
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (size_t p = 1; p < parts.size(); p += 2) quoted.push_back(parts[p]);
  return quoted;
}

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

template <typename Check>
std::vector<std::string> CheckTree(Check check) {
  std::vector<std::string> problems;
  for (const SourceFile& file : Tree()) {
    const std::vector<std::string> found = check(file);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

std::set<std::string> TreePaths() {
  std::set<std::string> paths;
  for (const SourceFile& file : Tree()) paths.insert(file.path);
  return paths;
}

TEST(TreeTest, HoldsTheProject) {
  const std::set<std::string> paths = TreePaths();
  for (const char* path : {"common/server.cc", "sandbox/sandbox.h", "tests/tidy_test.cc",
                           "proto/whetstone/v1/campaign.proto"}) {
    EXPECT_EQ(paths.count(path), 1u) << path << " not found under " << SourceDir();
  }
}

TEST(IncludesTest, ServicesShareOnlyContracts) { EXPECT_THAT(CheckTree(CheckIncludes), IsEmpty()); }

TEST(IncludesTest, NoticesWhatIsForbidden) {
  const auto check = [](const char* path, const char* include) {
    return CheckIncludes({path, absl::StrCat("#include ", include, "\n")});
  };
  EXPECT_THAT(check("coordinator/a.cc", "\"cpu_bench_worker/b.h\""),
              ElementsAre("coordinator/a.cc:1: may not include cpu_bench_worker/b.h"));
  EXPECT_THAT(check("gpu_trainer/ops/a.cc", "\"gpu_trainer/model/b.h\""), SizeIs(1));
  EXPECT_THAT(check("gpu_trainer/grpo/a.cc", "\"gpu_trainer/engine/b.h\""), SizeIs(1));
  EXPECT_THAT(check("gpu_trainer/model/a.cc", "\"whetstone/v1/trainer.pb.h\""), SizeIs(1));
  EXPECT_THAT(check("common/a.h", "\"sandbox/sandbox.h\""), SizeIs(1));
  EXPECT_THAT(check("coordinator/a.cc", "<torch/torch.h>"), SizeIs(1));
  EXPECT_THAT(check("coordinator/services/a.cc", "<libssh/libssh.h>"), SizeIs(1));
  EXPECT_THAT(check("cpu_bench_worker/a.cc", "\"clang/AST/AST.h\""), SizeIs(1));
  EXPECT_THAT(check("gpu_trainer/ops/a.cu", "<ATen/ATen.h>"), SizeIs(1));
  EXPECT_THAT(check("gpu_trainer/model/a.cc", "\"gpu_trainer/ops/b.h\""), IsEmpty());
  EXPECT_THAT(check("coordinator/tunnel/a.cc", "<libssh/libssh.h>"), IsEmpty());
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
  EXPECT_THAT(CheckSize({"a.cc", std::string(kLinesMax + 1, '\n')}), SizeIs(1));
}

TEST(WordsTest, NothingIsSwitchedOffOrLeftUndone) {
  EXPECT_THAT(CheckTree(CheckWords), IsEmpty());
  EXPECT_THAT(CheckWords({"a.cc", absl::StrCat("TEST(A, ", BannedPrefixes()[0], "B)\n")}),
              SizeIs(1));
  EXPECT_THAT(CheckWords({"a.cc", absl::StrCat("// ", BannedWords()[1], ": later\n")}), SizeIs(1));
  EXPECT_THAT(CheckWords({"a.cc", "mkdtemp(\"/tmp/whet.XXXXXX\")\n"}), IsEmpty());
}

TEST(LinksTest, LeadSomewhere) {
  const std::filesystem::path root = SourceDir();
  EXPECT_THAT(CheckTree([&](const SourceFile& file) { return CheckLinks(file, root); }), IsEmpty());
  EXPECT_THAT(CheckLinks({"docs/a.md", "see [b](no_such_page.md#x)\n"}, root), SizeIs(1));
  EXPECT_THAT(CheckLinks({"docs/a.md", "[x](../tests/tidy_test.cc) [y](#z)\n"}, root), IsEmpty());
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
