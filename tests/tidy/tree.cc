#include "tests/tidy/tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/tree_testing.h"
#include "gtest/gtest.h"

namespace whetstone {

bool HasExtension(const std::string& path, const std::vector<std::string>& extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const std::string& e) { return absl::EndsWith(path, e); });
}

bool IsCpp(const std::string& path) { return HasExtension(path, {".cc", ".h", ".cu", ".cuh"}); }

namespace {

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

}  // namespace

const std::vector<SourceFile>& Tree() {
  static const auto* files = new std::vector<SourceFile>(ReadTree());
  return *files;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

const SourceFile& FileOf(const std::string& path) {
  static const auto* const kNone = new SourceFile();
  for (const SourceFile& file : Tree()) {
    if (file.path == path) return file;
  }
  ADD_FAILURE() << "no file " << path;
  return *kNone;
}

std::set<std::string> TreePaths() {
  std::set<std::string> paths;
  for (const SourceFile& file : Tree()) paths.insert(file.path);
  return paths;
}

bool IsTest(const std::string& path) {
  return absl::StartsWith(path, "tests/") || absl::EndsWith(path, "_test.cc") ||
         absl::StrContains(path, "_testing.") || absl::StrContains(path, "fakes") ||
         absl::StrContains(path, "/test_") || absl::StrContains(path, "_test_program.");
}

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

std::vector<std::string> Quoted(const std::string& text) {
  std::vector<std::string> quoted;
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (size_t p = 1; p < parts.size(); p += 2) quoted.push_back(parts[p]);
  return quoted;
}

namespace {

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

bool HasWord(const std::string& line, const std::string& word, bool prefix) {
  for (size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !IsWordCharacter(line[at - 1]);
    const size_t end = at + word.size();
    const bool ends = prefix || end == line.size() || !IsWordCharacter(line[end]);
    if (starts && ends) return true;
  }
  return false;
}

std::string At(const SourceFile& file, size_t line, absl::string_view message) {
  return absl::StrCat(file.path, ":", line, ": ", message);
}

}  // namespace whetstone
