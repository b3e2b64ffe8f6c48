#include "coordinator/authoring/container_uses.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {

bool ContainerUses::Look(size_t at) {
  const std::string& masked = text_->masked();
  const size_t next = text_->Next(at + name_.size());
  const size_t before = text_->Before(at);
  if (masked[next] == '[') return true;
  if (masked[next] == '.') return AddMember(at, next);
  return masked[before] == ':' && masked[next] == ')' && AddRangeFor(before, next);
}

bool ContainerUses::AddMember(size_t at, size_t dot) {
  const std::string& masked = text_->masked();
  const size_t begin = text_->Next(dot + 1);
  const size_t end = text_->WordEnd(begin);
  const std::map<std::string, std::string> known = {
      {"size", size_},
      {"length", size_},
      {"empty", absl::StrCat("(", size_, " == 0)")},
      {"data", name_},
      {"begin", name_},
      {"cbegin", name_},
      {"end", absl::StrCat("(", name_, " + ", size_, ")")},
      {"cend", absl::StrCat("(", name_, " + ", size_, ")")},
      {"front", absl::StrCat(name_, "[0]")},
      {"back", absl::StrCat(name_, "[", size_, " - 1]")}};
  const auto it = known.find(masked.substr(begin, end - begin));
  const size_t open = text_->Next(end);
  const size_t close = masked[open] == '(' ? text_->Closing(open) : std::string::npos;
  if (it == known.end() || close == std::string::npos || text_->Next(open + 1) != close)
    return false;
  // What a call returns is a value; these would become the parameters themselves.
  const std::string before = masked.substr(text_->Before(at) - 1, 2);
  const std::string behind = masked.substr(text_->Next(close + 1), 2);
  const bool counts = before == "++" || before == "--" || behind == "++" || behind == "--";
  // A reference would go on to say what it was.
  size_t bound = text_->Before(at);
  bool refers = masked[bound] == '=';
  if (refers) {
    bound = text_->Before(bound);
    while (bound > 0 && IsWordChar(masked[bound])) --bound;
    refers = masked[masked[bound] == ' ' ? text_->Before(bound + 1) : bound] == '&';
  }
  if (counts || refers || absl::StrContains(masked, "auto&&") ||
      absl::StrContains(masked, "auto &&"))
    return false;
  edits_.push_back({at, close + 1, it->second});
  return true;
}

// for (const T& each : given) { becomes a loop over places.
bool ContainerUses::AddRangeFor(size_t colon, size_t close) {
  const std::string& masked = text_->masked();
  size_t open = colon;
  for (int depth = 0; open > 0; --open) {
    if (masked[open] == ')') ++depth;
    if (masked[open] == '(' && depth-- == 0) break;
  }
  const size_t body = text_->Next(close + 1);
  const std::string each(absl::StripAsciiWhitespace(masked.substr(open + 1, colon - open - 1)));
  const size_t keyword = text_->Before(open);
  const bool is_for = keyword >= 2 && masked.compare(keyword - 2, 3, "for") == 0;
  if (!is_for || masked[body] != '{' || absl::StrContains(each, ";")) return false;
  const std::string place = text_->Fresh(name_ + "_at");
  edits_.push_back({open, body + 1,
                    absl::StrCat("(size_t ", place, " = 0; ", place, " < ", size_, "; ++", place,
                                 ") {\n", each, " = ", name_, "[", place, "];")});
  return true;
}

}  // namespace whetstone
