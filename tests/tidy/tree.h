// The source tree as the rules of this folder read it.
#ifndef WHETSTONE_TESTS_TIDY_TREE_H_
#define WHETSTONE_TESTS_TIDY_TREE_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace whetstone {

// Every folder that holds sources.
inline constexpr const char* kFolders[] = {
    "benchmarks",  "common",  "coordinator", "cpu_bench_worker", "deploy", "docs",
    "gpu_trainer", "prompts", "proto",       "sandbox",          "tests"};

struct SourceFile {
  std::string path;  // Relative to the root of the tree.
  std::string text;
};

struct Include {
  size_t line = 0;  // From 1.
  std::string path;
  bool quoted = false;
};

// Every file below kFolders and every page of the root, by path. Read once.
const std::vector<SourceFile>& Tree();
// The file of that path; fails the test and returns an empty one where there is none.
const SourceFile& FileOf(const std::string& path);
std::set<std::string> TreePaths();

bool HasExtension(const std::string& path, const std::vector<std::string>& extensions);
bool IsCpp(const std::string& path);
// Returns whether a file is a test or only tests use it.
bool IsTest(const std::string& path);
std::vector<std::string> Lines(const std::string& text);
std::vector<Include> Includes(const SourceFile& file);
// Returns what stands between pairs of backticks.
std::vector<std::string> Quoted(const std::string& text);
// Returns whether the line holds the word, or a word with that beginning.
bool HasWord(const std::string& line, const std::string& word, bool prefix);
// Returns "path:line: message".
std::string At(const SourceFile& file, size_t line, absl::string_view message);

// Returns what a rule of one file finds in the whole tree.
template <typename Check>
std::vector<std::string> CheckTree(Check check) {
  std::vector<std::string> problems;
  for (const SourceFile& file : Tree()) {
    const std::vector<std::string> found = check(file);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_TIDY_TREE_H_
