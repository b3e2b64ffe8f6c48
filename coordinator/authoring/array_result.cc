#include "coordinator/authoring/array_result.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/container_uses.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/authoring/source_types.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

constexpr size_t kMissing = std::string::npos;

std::string Stripped(absl::string_view text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

// Says whether that is a vector or string by itself.
bool IsOwn(const GivenType& type) {
  return (type.core == "vector" || type.core == "string") && !type.element.empty() &&
         !type.is_const && !type.reference;
}

// Says whether an argument behind a length is what each element is, and no end of a range.
bool IsValue(const std::string& argument) {
  const char first = argument.empty() ? ' ' : argument[0];
  return absl::ascii_isdigit(static_cast<unsigned char>(first)) || first == '-' || first == '.' ||
         first == '{' || first == '\'' || absl::StrContains(argument, "numeric_limits") ||
         std::set<std::string>{"INFINITY", "HUGE_VAL", "NAN"}.count(argument) > 0;
}

class Result {
 public:
  Result(const std::string& code, const CppFunction& function)
      : code_(code), function_(function), text_(code), masked_(text_.masked()) {}

  std::optional<ArrayResult> Make() {
    const std::optional<FunctionHead> head = HeadOf(text_, function_);
    if (!head) return std::nullopt;
    open_ = head->open;
    close_ = head->close;
    name_begin_ = head->name;
    type_ = ReadGivenType(head->result);
    if (IsOwn(type_)) return IsElement(type_) ? Returned(head->result) : std::nullopt;
    return head->result == "void" ? Given() : std::nullopt;
  }

 private:
  // Whether an array of a problem may hold such elements.
  bool IsElement(const GivenType& type) const {
    return types_.IsPlain(type.element) || absl::StartsWith(type.element, "std::array<");
  }

  // A call of one of the container's members: NAME.member(arguments).
  struct Call {
    std::string member;
    size_t open = 0;
    size_t close = 0;
  };

  std::optional<Call> CallAt(size_t at) const {
    const size_t dot = text_.Next(at + name_.size());
    if (masked_[dot] != '.') return std::nullopt;
    const size_t begin = text_.Next(dot + 1);
    const size_t end = text_.WordEnd(begin);
    Call call{masked_.substr(begin, end - begin), text_.Next(end), 0};
    call.close = masked_[call.open] == '(' ? text_.Closing(call.open) : kMissing;
    return call.close == kMissing ? std::nullopt : std::optional(call);
  }

  // Returns the text between two brackets, and its parts.
  std::string Inside(size_t open, size_t close) const {
    return Stripped(code_.substr(open + 1, close - open - 1));
  }
  std::vector<std::string> Arguments(size_t open, size_t close) const {
    std::vector<std::string> parts = SplitParameters(masked_.substr(open + 1, close - open - 1));
    size_t begin = open + 1;
    for (std::string& part : parts) {
      const size_t end = begin + part.size();
      part = Stripped(code_.substr(begin, end - begin));
      begin = end + 1;
    }
    return parts;
  }

  // Returns the code that makes it `length` elements of a value, or those of `others`.
  std::string Filled(const std::string& length, const std::string& value,
                     const std::string& others = "") {
    const std::string at = text_.Fresh(name_ + "_at");
    // What takes work, or does some, is asked for once.
    std::string hoisted, each = value;
    if (!others.empty()) {
      each = absl::StrCat(others, "[", at, "]");
    } else if (!std::all_of(value.begin(), value.end(), [](char c) {
                 return IsWordChar(c) || absl::StrContains("{}-.' ", std::string(1, c));
               })) {
      each = text_.Fresh(name_ + "_value");
      hoisted = absl::StrCat("\n  const ", type_.element, " ", each, " = ", value, ";");
    }
    return absl::StrCat(size_, " = ", length, ";", hoisted, "\n  for (size_t ", at, " = 0; ", at,
                        " < ", size_, "; ++", at, ") ", name_, "[", at, "] = ", each, ";");
  }

  // The container's beginning, of (length) or (length, value); nothing: it is something else.
  std::optional<std::string> Beginning(size_t open, size_t close) {
    const std::vector<std::string> arguments = Arguments(open, close);
    if (arguments[0].empty() || arguments.size() > 2) return std::nullopt;
    if (arguments.size() == 2) {
      if (!IsValue(arguments[1])) return std::nullopt;
      return Filled(arguments[0], arguments[1]);
    }
    // A container's name would be a copy of that one.
    if (containers_.count(arguments[0]) > 0)
      return Filled(arguments[0] + ".size()", "", arguments[0]);
    return Filled(arguments[0], "{}");
  }

  // Rewrites what changes its length at its end.
  bool Grow(size_t at) {
    const size_t next = text_.Next(at + name_.size());
    // Another string, too, may be put behind one; a letter is told by its quotes.
    if (masked_.compare(next, 2, "+=") == 0 && code_[text_.Next(next + 2)] == '\'' &&
        absl::StrContains(";{})", masked_.substr(text_.Before(at), 1))) {
      edits_.push_back({at, next + 2, absl::StrCat(name_, "[", size_, "++] =")});
      return grows_ = true;
    }
    const std::optional<Call> call = CallAt(at);
    if (!call) return false;
    const auto replace = [&](std::string text) {
      edits_.push_back({at, call->close + 1, std::move(text)});
      return true;
    };
    if (call->member == "reserve") return replace("static_cast<void>(0)");
    grows_ = true;
    if (call->member == "pop_back") return replace("--" + size_);
    if (call->member == "clear") return replace(size_ + " = 0");
    const std::string place = absl::StrCat(name_, "[", size_, "++] = ");
    if (call->member == "push_back") {
      const bool braces = masked_[text_.Next(call->open + 1)] == '{';
      edits_.push_back({at, call->open + 1, place + (braces ? "" : "(")});
      if (braces) edits_.push_back({call->close, call->close + 1, ""});
      return true;
    }
    if (call->member == "emplace_back") {
      const bool one = Arguments(call->open, call->close).size() == 1;
      if (!one && absl::StrContains(type_.element, " ")) return false;
      edits_.push_back(
          {at, call->open,
           place + (one ? absl::StrCat("static_cast<", type_.element, ">") : type_.element)});
      return true;
    }
    const size_t end = text_.Next(call->close + 1);
    if (masked_[end] != ';') return false;
    std::string block;
    if (call->member == "resize") {
      const std::string length = text_.Fresh(name_ + "_length");
      block = absl::StrCat("{ const size_t ", length, " = ", Inside(call->open, call->close),
                           "; while (", size_, " < ", length, ") ", place, "{}; ", size_, " = ",
                           length, "; }");
      if (Arguments(call->open, call->close).size() != 1) return false;
    } else if (call->member == "assign") {
      const std::optional<std::string> filled = Beginning(call->open, call->close);
      if (!filled) return false;
      block = absl::StrCat("{ ", *filled, " }");
    } else {
      return false;
    }
    edits_.push_back({at, end + 1, block});
    return true;
  }

  // Rewrites what is done with the container between these places.
  bool RewriteUses(size_t begin, size_t end) {
    const std::optional<std::vector<size_t>> uses = text_.UsesOf(name_, begin, end);
    if (!uses || text_.CopyingLambda(function_.open, function_.close) != kMissing) return false;
    ContainerUses looks(&text_, name_, size_);
    for (const size_t at : *uses) {
      const bool returned = std::count(returns_.begin(), returns_.end(), at) > 0;
      if (!returned && !looks.Look(at) && !Grow(at)) return false;
    }
    edits_.insert(edits_.end(), looks.edits().begin(), looks.edits().end());
    return true;
  }

  // Finds what the function returns: the places of its name, and of what is empty.
  bool FindReturns(const std::string& type) {
    for (const size_t at : text_.OwnReturns(function_.open, function_.close)) {
      const size_t begin = text_.Next(at + 6);
      const size_t end = masked_.find(';', begin);
      const std::string value = Stripped(code_.substr(begin, end - begin));
      const bool empty = value == "{}" || value == type + "{}" || value == type + "()";
      const bool is_name = !value.empty() && text_.WordEnd(begin) == begin + value.size();
      if (!empty && (!is_name || (!name_.empty() && name_ != value))) return false;
      if (is_name) name_ = value;
      (is_name ? returns_ : empty_returns_).push_back(begin);
    }
    return !name_.empty();
  }

  // Containers among the parameters.
  void FindContainers(const std::vector<std::string>& parameters) {
    for (const std::string& part : parameters) {
      const GivenParameter given = ReadParameter(part);
      if (!ReadGivenType(given.type).element.empty()) containers_.insert(given.name);
    }
  }

  std::optional<ArrayResult> Returned(const std::string& type) {
    if (!FindReturns(type)) return std::nullopt;
    FindContainers(SplitParameters(masked_.substr(open_ + 1, close_ - open_ - 1)));
    // The first one to name it declares it, in the function's own block.
    const size_t at = FindWord(masked_, name_, close_);
    size_t begin = at;
    while (begin > function_.open && !absl::StrContains(";{}", masked_.substr(begin - 1, 1)))
      --begin;
    const std::string block = masked_.substr(function_.open + 1, begin - function_.open - 1);
    const GivenType declared = ReadGivenType(Stripped(masked_.substr(begin, at - begin)));
    if (at >= function_.close || !IsOwn(declared) || declared.element != type_.element ||
        std::count(block.begin(), block.end(), '{') != std::count(block.begin(), block.end(), '}'))
      return std::nullopt;
    size_ = text_.Fresh(name_ + "_size");
    const size_t behind = text_.Next(at + name_.size());
    const size_t end = masked_.find(';', behind);
    std::optional<std::string> beginning = size_ + " = 0;";
    if (masked_[behind] == '(') {
      if (text_.Next(text_.Closing(behind) + 1) != end) return std::nullopt;
      beginning = Beginning(behind, text_.Closing(behind));
    } else if (behind != end && Stripped(masked_.substr(behind, end - behind)) != "{}") {
      return std::nullopt;
    }
    if (!beginning || !RewriteUses(end, function_.close)) return std::nullopt;
    begin = text_.Next(begin);
    edits_.push_back({begin, end + 1, absl::StrCat(grows_ ? "" : "const ", "size_t ", *beginning)});
    const bool none = Inside(open_, close_).empty();
    edits_.push_back({close_, close_, absl::StrCat(none ? "" : ", ", type_.element, "* ", name_)});
    edits_.push_back({function_.head, name_begin_, grows_ ? "size_t " : "void "});
    for (const size_t place : returns_) Return(place, place + name_.size(), size_);
    for (const size_t place : empty_returns_) Return(place, masked_.find(';', place), "0");
    return Done(absl::StrCat("what it returns (", type, ") is"));
  }

  // What was returned at [begin, end) becomes how long it is, or nothing.
  void Return(size_t begin, size_t end, const std::string& length) {
    edits_.push_back({text_.Before(begin) + 1, end, grows_ ? " " + length : ""});
  }

  std::optional<ArrayResult> Given() {
    const std::vector<std::string> parameters =
        SplitParameters(masked_.substr(open_ + 1, close_ - open_ - 1));
    FindContainers(parameters);
    size_t begin = open_ + 1;
    for (const std::string& part : parameters) {
      const GivenParameter given = ReadParameter(part);
      type_ = ReadGivenType(given.type);
      const size_t end = begin + part.size();
      if (type_.reference) {
        type_.reference = false;
        name_ = given.name;
        edits_.clear();
        grows_ = false;
        if (IsOwn(type_) && IsElement(type_) && !name_.empty() && Begins()) {
          edits_.push_back(
              {begin, end, absl::StrCat(begin > open_ + 1 ? " " : "", type_.element, "* ", name_)});
          if (grows_) ReturnsSize();
          return Done(absl::StrCat("'", name_, "' (", given.type, ") is"));
        }
      }
      begin = end + 1;
    }
    return std::nullopt;
  }

  // Whether the first thing that is done with the parameter, in the function's own block, clears it
  // or says how long it is; rewrites that, and what comes then.
  bool Begins() {
    const auto uses = text_.UsesOf(name_, function_.open, function_.close);
    if (!uses || uses->empty()) return false;
    const size_t at = uses->front();
    const std::string block = masked_.substr(function_.open + 1, at - function_.open - 1);
    const std::optional<Call> call = CallAt(at);
    const bool own_statement =
        absl::StrContains(";{}", masked_.substr(text_.Before(at), 1)) &&
        std::count(block.begin(), block.end(), '{') == std::count(block.begin(), block.end(), '}');
    const size_t end = call ? text_.Next(call->close + 1) : kMissing;
    if (!own_statement || end == kMissing || masked_[end] != ';') return false;
    size_ = text_.Fresh(name_ + "_size");
    std::optional<std::string> beginning;
    const std::vector<std::string> arguments = Arguments(call->open, call->close);
    if (call->member == "clear") beginning = size_ + " = 0;";
    // What was in it stays.
    if (call->member == "resize" && arguments.size() == 1 && !arguments[0].empty())
      beginning = absl::StrCat(size_, " = ", arguments[0], ";");
    if (call->member == "assign") beginning = Beginning(call->open, call->close);
    if (absl::StrContains(block, "return")) return false;
    if (!beginning || !RewriteUses(end, function_.close)) return false;
    edits_.push_back({at, end + 1, absl::StrCat(grows_ ? "" : "const ", "size_t ", *beginning)});
    return true;
  }

  // A function that returned nothing returns how long it is.
  void ReturnsSize() {
    edits_.push_back({function_.head, name_begin_, "size_t "});
    for (const size_t at : text_.OwnReturns(function_.open, function_.close)) {
      if (masked_[text_.Next(at + 6)] == ';') edits_.push_back({at + 6, at + 6, " " + size_});
    }
    edits_.push_back({function_.close, function_.close, absl::StrCat("  return ", size_, ";\n")});
  }

  std::optional<ArrayResult> Done(const std::string& what) {
    std::optional<std::string> text = Edited(code_, std::move(edits_));
    if (!text) return std::nullopt;
    return ArrayResult{*std::move(text),
                       absl::StrCat(what, " the array '", name_, "'",
                                    grows_ ? ", and how much of it is used is returned" : "")};
  }

  const std::string& code_;
  const CppFunction& function_;
  CodeText text_;
  const std::string& masked_;
  const SourceTypes types_{code_};
  size_t open_ = 0, close_ = 0;  // of the parameters
  size_t name_begin_ = 0;        // of the function
  GivenType type_;               // of the container
  std::string name_, size_;
  bool grows_ = false;
  std::vector<size_t> returns_, empty_returns_;
  std::set<std::string> containers_;
  std::vector<TextEdit> edits_;
};

}  // namespace

std::optional<ArrayResult> WithArrayResult(const std::string& code, const CppFunction& function) {
  return Result(code, function).Make();
}

}  // namespace whetstone
