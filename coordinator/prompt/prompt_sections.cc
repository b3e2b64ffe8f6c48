#include "coordinator/prompt/prompt_sections.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace whetstone {
namespace {

constexpr size_t kLinesMax = 20000;

absl::Status CheckText(absl::string_view line, absl::string_view name, int number) {
  for (size_t at = 0; at < line.size();) {
    const Utf8Step step = DecodeUtf8(line.substr(at));
    if (!step.valid) return PromptError(name, number, "not valid UTF-8: save the file as UTF-8");
    const uint8_t c = line[at];
    if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return PromptError(name, number,
                         absl::StrCat("control character ", static_cast<int>(c), " at column ",
                                      at + 1, ": remove it"));
    }
    at += step.bytes;
  }
  return absl::OkStatus();
}

// Returns the number of backticks that open a fence on this line; 0: none.
size_t FenceLength(absl::string_view line) {
  const size_t ticks = std::min(line.find_first_not_of('`'), line.size());
  return ticks >= 3 ? ticks : 0;
}

// Follows fences line by line, so that a heading inside a fence is not taken for one.
class FenceTracker {
 public:
  enum class Line { kOutside, kOpens, kInside, kCloses };
  Line See(absl::string_view line, int number) {
    const size_t ticks = FenceLength(line);
    if (open_ticks_ == 0) {
      if (ticks == 0) return Line::kOutside;
      open_ticks_ = ticks;
      open_line_ = number;
      return Line::kOpens;
    }
    const bool closes =
        ticks >= open_ticks_ && absl::StripAsciiWhitespace(line.substr(ticks)).empty();
    if (!closes) return Line::kInside;
    open_ticks_ = 0;
    return Line::kCloses;
  }
  // Returns the line of a fence that was never closed; 0: none.
  int open_line() const { return open_ticks_ == 0 ? 0 : open_line_; }

 private:
  size_t open_ticks_ = 0;
  int open_line_ = 0;
};

// Collects the body of the file, below the front matter.
class BodyReader {
 public:
  BodyReader(absl::string_view name, PromptParts* parts) : name_(name), parts_(parts) {}

  absl::Status See(const std::string& line, int number) {
    const FenceTracker::Line kind = fence_.See(line, number);
    if (kind == FenceTracker::Line::kOutside && absl::StartsWith(line, "## ")) {
      return Heading(line, number);
    }
    if (section_.empty()) {
      absl::StrAppend(&parts_->prose, line, "\n");
      return absl::OkStatus();
    }
    switch (kind) {
      case FenceTracker::Line::kOpens:
        if (++blocks_ > 1) {
          return PromptError(name_, number,
                             absl::StrCat("section '", section_,
                                          "' has a second fenced block: ", "join them into one"));
        }
        break;
      case FenceTracker::Line::kInside:
        absl::StrAppend(&parts_->sections[section_].code, line, "\n");
        break;
      case FenceTracker::Line::kOutside:  // these are notes for people
      case FenceTracker::Line::kCloses:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (fence_.open_line() > 0) {
      return PromptError(name_, fence_.open_line(), "this fenced block is never closed");
    }
    parts_->prose = std::string(absl::StripAsciiWhitespace(parts_->prose));
    return EndSection();
  }

 private:
  absl::Status Heading(const std::string& line, int number) {
    RETURN_IF_ERROR(EndSection());
    section_ = std::string(absl::StripAsciiWhitespace(line.substr(3)));
    blocks_ = 0;
    const std::vector<std::string>& known = SectionNames();
    if (std::find(known.begin(), known.end(), section_) == known.end()) {
      return PromptError(
          name_, number,
          absl::StrCat("unknown section '", section_, "'; did you mean '", Nearest(section_, known),
                       "'? Sections are ", absl::StrJoin(known, ", ")));
    }
    const auto [it, is_new] = parts_->sections.insert({section_, {"", number}});
    if (!is_new) {
      return PromptError(
          name_, number,
          absl::StrCat("section '", section_, "' stands here a second time (first on line ",
                       it->second.line, ")"));
    }
    return absl::OkStatus();
  }

  absl::Status EndSection() {
    if (section_.empty()) return absl::OkStatus();
    CodeSection& section = parts_->sections[section_];
    if (blocks_ == 0) {
      return PromptError(name_, section.line,
                         absl::StrCat("section '", section_, "' has no ```cpp block"));
    }
    while (!section.code.empty() && section.code.back() == '\n') section.code.pop_back();
    if (absl::StripAsciiWhitespace(section.code).empty()) {
      return PromptError(name_, section.line,
                         absl::StrCat("section '", section_, "' has an empty block"));
    }
    return absl::OkStatus();
  }

  absl::string_view name_;
  PromptParts* parts_;
  FenceTracker fence_;
  std::string section_;
  int blocks_ = 0;
};

}  // namespace

absl::Status PromptError(absl::string_view name, int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ":", line, ": ", what));
}

absl::Status CheckUtf8(absl::string_view text, absl::string_view name) {
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = DecodeUtf8(text.substr(at));
    if (!step.valid) return PromptError(name, line, "not valid UTF-8: save the file as UTF-8");
    line += text[at] == '\n';
    at += step.bytes;
  }
  return absl::OkStatus();
}

const std::vector<std::string>& SectionNames() {
  static const auto* const kNames =
      new std::vector<std::string>{"reference", "expert", "oracle", "generator", "checker"};
  return *kNames;
}

absl::StatusOr<PromptParts> SplitPrompt(absl::string_view text, absl::string_view name) {
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.size() > kLinesMax) {
    return PromptError(name, kLinesMax + 1,
                       absl::StrCat("more than ", kLinesMax, " lines: not a prompt file"));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (absl::EndsWith(lines[i], "\r")) lines[i].pop_back();
    RETURN_IF_ERROR(CheckText(lines[i], name, static_cast<int>(i) + 1));
  }
  const auto is_rule = [](const std::string& line) {
    return absl::StripTrailingAsciiWhitespace(line) == "---";
  };
  if (!is_rule(lines[0])) {
    return PromptError(name, 1, "a prompt file begins with '---' and YAML front matter");
  }
  PromptParts parts;
  parts.front_matter_line = 2;
  parts.last_line = static_cast<int>(lines.size());
  size_t at = 1;
  while (at < lines.size() && !is_rule(lines[at])) {
    absl::StrAppend(&parts.front_matter, lines[at], "\n");
    ++at;
  }
  if (at == lines.size()) return PromptError(name, 1, "the front matter is never closed by '---'");
  parts.prose_line = static_cast<int>(at) + 2;
  BodyReader body(name, &parts);
  for (++at; at < lines.size(); ++at) {
    RETURN_IF_ERROR(body.See(lines[at], static_cast<int>(at) + 1));
  }
  RETURN_IF_ERROR(body.Finish());
  return parts;
}

}  // namespace whetstone
