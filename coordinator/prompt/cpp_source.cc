#include "coordinator/prompt/cpp_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/problem/cpp_text.h"
#include "common/status_macros.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/prompt_sections.h"

namespace whetstone {
namespace {

absl::Status ReadIncludes(absl::string_view code, absl::string_view name, CppSource* source) {
  int number = 0;
  for (absl::string_view line : absl::StrSplit(code, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripAsciiWhitespace(line);
    const size_t end = line.find('>');
    if (!absl::StartsWith(line, "<") || end == absl::string_view::npos) {
      return PromptError(name, number,
                         absl::StrCat("a candidate has no ", line,
                                      ": put what the function needs into this file"));
    }
    const std::string header(line.substr(1, end - 1));
    // These are always there, in every problem.
    if (header == "cstddef" || header == "cstdint") continue;
    auto& headers = source->headers;
    if (std::find(headers.begin(), headers.end(), header) == headers.end()) {
      headers.push_back(header);
    }
  }
  return absl::OkStatus();
}

// Returns whether `head`, the text before a '{' at global scope, can be of a function that others
// call.
bool IsFunctionHead(const std::string& head) {
  // What is set to something is no function, unless it is a parameter.
  if (!absl::StrContains(head, "(") || head.find('=') < head.find('(')) return false;
  bool callable = true;
  MapIdentifiers(head, [&](const std::string& word) {
    for (const char* other : {"static", "inline", "template", "struct", "class", "enum", "union",
                              "namespace", "constexpr", "operator", "extern"}) {
      callable &= word != other;
    }
    return word;
  });
  return callable;
}

std::string OneLine(const std::string& head) {
  const std::string text = MapIdentifiers(head, [](const std::string& word) {
    return word == "__restrict" || word == "__restrict__" ? std::string() : word;
  });
  std::string line;
  for (const char c : text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      line += c;
    } else if (!line.empty() && line.back() != ' ' && line.back() != '(') {
      line += ' ';
    }
  }
  return std::string(absl::StripAsciiWhitespace(line));
}

}  // namespace

absl::StatusOr<CppSource> ReadCppSource(absl::string_view code, absl::string_view name) {
  CppSource source;
  RETURN_IF_ERROR(ReadIncludes(code, name, &source));
  const std::string masked = MaskedCpp(code);
  // The current declaration begins at `head`.
  size_t head = 0;
  int depth = 0;
  for (size_t at = 0; at < masked.size(); ++at) {
    const char c = masked[at];
    if (c == '{' && depth++ == 0) {
      const std::string text = masked.substr(head, at - head);
      if (!IsFunctionHead(text)) continue;
      const size_t begin = std::min(masked.find_first_not_of(" \t\n", head), at);
      const int line = LineAt(code, begin);
      const std::string signature = OneLine(text);
      if (absl::StrContains(signature, " main(")) {
        return PromptError(name, line, "leave the main function out: a problem is one function");
      }
      source.functions.push_back({signature, line, begin, at, at});
    } else if (c == '}' && --depth < 0) {
      return PromptError(name, LineAt(code, at), "this '}' closes nothing");
    } else if (c == '}' && depth == 0 && !source.functions.empty()) {
      CppFunction& last = source.functions.back();
      if (last.open == last.close) last.close = at;
    }
    if (depth == 0 && (c == '}' || c == ';')) head = at + 1;
  }
  if (depth > 0) {
    return PromptError(name, LineAt(code, code.size()), "a '{' is never closed");
  }
  return source;
}

std::string NameOfFunction(absl::string_view signature) {
  const size_t end = std::min(signature.find('('), signature.size());
  size_t begin = end;
  while (begin > 0 && IsWordChar(signature[begin - 1])) --begin;
  return std::string(signature.substr(begin, end - begin));
}

}  // namespace whetstone
