#include "gpu_trainer/tokenizer/jinja/jinja_builtins.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace whetstone::jinja {
namespace {

absl::Status Fail(absl::string_view what) { return absl::InvalidArgumentError(what); }

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::vector<std::string> Characters(absl::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const size_t n = DecodeUtf8(text).bytes;
    characters.emplace_back(text.substr(0, n));
    text.remove_prefix(n);
  }
  return characters;
}

// Does what Python's strip does with Unicode white space, or with the characters in `set`.
std::string Strip(const std::string& text, const Value* set, bool left, bool right) {
  std::vector<std::string> characters = Characters(text);
  const bool spaces = set == nullptr || set->kind == Value::kNone;
  auto goes = [&](const std::string& c) {
    return spaces ? IsSpace(DecodeUtf8(c).code) : absl::StrContains(set->text, c);
  };
  size_t begin = 0, end = characters.size();
  while (left && begin < end && goes(characters[begin])) ++begin;
  while (right && end > begin && goes(characters[end - 1])) --end;
  std::string out;
  for (size_t i = begin; i < end; ++i) out += characters[i];
  return out;
}

std::string Title(const std::string& text) {
  std::string out = absl::AsciiStrToLower(text);
  bool start = true;
  for (char& c : out) {
    if (start) c = absl::ascii_toupper(static_cast<unsigned char>(c));
    start = !absl::ascii_isalpha(static_cast<unsigned char>(c));
  }
  return out;
}

std::string Capitalize(const std::string& text) {
  std::string out = absl::AsciiStrToLower(text);
  if (!out.empty()) out[0] = absl::ascii_toupper(static_cast<unsigned char>(out[0]));
  return out;
}

absl::StatusOr<Value> Split(const std::string& text, const Arguments& arguments) {
  const Value* separator = arguments.Get(0, "sep");
  const Value* max = arguments.Get(1, "maxsplit");
  int64_t left = max == nullptr ? -1 : max->integer;
  Value::List parts;
  if (separator == nullptr || separator->kind == Value::kNone) {
    if (left >= 0) return Fail("split with maxsplit but no separator is not supported");
    std::string word;
    for (const std::string& c : Characters(text)) {
      if (!IsSpace(DecodeUtf8(c).code)) {
        word += c;
      } else if (!word.empty()) {
        parts.push_back(Value::Of(std::exchange(word, "")));
      }
    }
    if (!word.empty()) parts.push_back(Value::Of(word));
    return Value::OfList(std::move(parts));
  }
  if (separator->text.empty()) return Fail("split by an empty separator");
  size_t begin = 0;
  while (left-- != 0) {
    const size_t at = text.find(separator->text, begin);
    if (at == std::string::npos) break;
    parts.push_back(Value::Of(text.substr(begin, at - begin)));
    begin = at + separator->text.size();
  }
  parts.push_back(Value::Of(text.substr(begin)));
  return Value::OfList(std::move(parts));
}

absl::StatusOr<int64_t> Length(const Value& value) {
  if (value.kind == Value::kString) return static_cast<int64_t>(Characters(value.text).size());
  if (value.kind == Value::kList) return static_cast<int64_t>(value.list->size());
  if (value.kind == Value::kDict) return static_cast<int64_t>(value.dict->size());
  return Fail("length of something that has none");
}

absl::StatusOr<Value> DictItems(const Value& value) {
  if (value.kind != Value::kDict) return Fail("items of something that is no dictionary");
  Value::List items;
  for (const auto& [key, entry] : *value.dict) {
    items.push_back(Value::OfList({Value::Of(key), entry}));
  }
  return Value::OfList(std::move(items));
}

absl::StatusOr<bool> Contains(const Value& container, const Value& item) {
  if (container.kind == Value::kString) {
    if (item.kind != Value::kString) return Fail("'in' a string needs a string");
    return absl::StrContains(container.text, item.text);
  }
  if (container.kind == Value::kDict) return container.Find(item.text) != nullptr;
  if (container.kind == Value::kList) {
    return std::any_of(container.list->begin(), container.list->end(),
                       [&](const Value& v) { return v.Equals(item); });
  }
  return Fail("'in' needs a string, list or dictionary");
}

absl::StatusOr<Value> Arithmetic(const std::string& op, const Value& left, const Value& right) {
  if (!left.IsNumber() || !right.IsNumber()) {
    return Fail(absl::StrCat("'", op, "' of ", left.Repr(), " and ", right.Repr()));
  }
  const double a = left.AsNumber(), b = right.AsNumber();
  const bool divides = op == "/" || op == "//" || op == "%";
  if (divides && b == 0) return Fail("division by zero");
  double result = 0;
  if (op == "+") result = a + b;
  if (op == "-") result = a - b;
  if (op == "*") result = a * b;
  if (op == "/") result = a / b;
  if (op == "//") result = std::floor(a / b);
  if (op == "%") result = a - std::floor(a / b) * b;
  const bool real = op == "/" || left.kind == Value::kFloat || right.kind == Value::kFloat;
  return real ? Value::Of(result) : Value::Of(static_cast<int64_t>(result));
}

}  // namespace

const Value* Arguments::Get(size_t position, absl::string_view name) const {
  if (position < positional.size()) return &positional[position];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

absl::StatusOr<Value::List> Iterate(const Value& value) {
  Value::List items;
  switch (value.kind) {
    case Value::kUndefined:
      return items;
    case Value::kList:
      return *value.list;
    case Value::kDict:
      for (const auto& [key, entry] : *value.dict) items.push_back(Value::Of(key));
      return items;
    case Value::kString:
      for (std::string& c : Characters(value.text)) items.push_back(Value::Of(std::move(c)));
      return items;
    default:
      return Fail(absl::StrCat("can not loop over ", value.Repr()));
  }
}

absl::StatusOr<Value> ApplyFilter(const std::string& name, const Value& value,
                                  const Arguments& arguments) {
  if (name == "trim") {
    return Value::Of(Strip(value.Print(), arguments.Get(0, "chars"), true, true));
  }
  if (name == "length" || name == "count") {
    ASSIGN_OR_RETURN(const int64_t length, Length(value));
    return Value::Of(length);
  }
  if (name == "default" || name == "d") {
    const Value* falsy = arguments.Get(1, "boolean");
    const bool replace =
        value.kind == Value::kUndefined || (falsy != nullptr && falsy->Truthy() && !value.Truthy());
    const Value* otherwise = arguments.Get(0, "default_value");
    if (!replace) return value;
    return otherwise == nullptr ? Value::Of("") : *otherwise;
  }
  if (name == "tojson") {
    const Value* indent = arguments.Get(0, "indent");
    return Value::Of(
        value.ToJson(indent == nullptr || indent->kind != Value::kInt ? -1 : indent->integer));
  }
  if (name == "string" || name == "safe") return Value::Of(value.Print());
  if (name == "upper") return Value::Of(absl::AsciiStrToUpper(value.Print()));
  if (name == "lower") return Value::Of(absl::AsciiStrToLower(value.Print()));
  if (name == "title") return Value::Of(Title(value.Print()));
  if (name == "capitalize") return Value::Of(Capitalize(value.Print()));
  if (name == "int") {
    if (value.IsNumber()) return Value::Of(static_cast<int64_t>(value.AsNumber()));
    return Value::Of(static_cast<int64_t>(std::strtoll(value.text.c_str(), nullptr, 10)));
  }
  if (name == "replace") {
    const Value *from = arguments.Get(0, "old"), *to = arguments.Get(1, "new");
    if (from == nullptr || to == nullptr) return Fail("replace needs two arguments");
    return Value::Of(absl::StrReplaceAll(value.Print(), {{from->text, to->text}}));
  }
  if (name == "items") return DictItems(value);
  if (name == "list") {
    ASSIGN_OR_RETURN(Value::List items, Iterate(value));
    return Value::OfList(std::move(items));
  }
  if (name == "first" || name == "last") {
    ASSIGN_OR_RETURN(const Value::List items, Iterate(value));
    if (items.empty()) return Value();
    return name == "first" ? items.front() : items.back();
  }
  if (name == "join") {
    ASSIGN_OR_RETURN(const Value::List items, Iterate(value));
    const Value* separator = arguments.Get(0, "d");
    std::string out;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0 && separator != nullptr) out += separator->Print();
      out += items[i].Print();
    }
    return Value::Of(out);
  }
  return Fail(absl::StrCat("the filter '", name, "' is not supported"));
}

absl::StatusOr<bool> ApplyTest(const std::string& name, const Value& value,
                               const Arguments& arguments) {
  if (name == "defined") return value.kind != Value::kUndefined;
  if (name == "undefined") return value.kind == Value::kUndefined;
  if (name == "none") return value.kind == Value::kNone;
  if (name == "string") return value.kind == Value::kString;
  if (name == "mapping") return value.kind == Value::kDict;
  if (name == "number") return value.IsNumber();
  if (name == "integer") return value.kind == Value::kInt;
  if (name == "boolean") return value.kind == Value::kBool;
  if (name == "true") return value.kind == Value::kBool && value.boolean;
  if (name == "false") return value.kind == Value::kBool && !value.boolean;
  if (name == "iterable" || name == "sequence") {
    return value.kind == Value::kString || value.kind == Value::kList || value.kind == Value::kDict;
  }
  const Value* argument = arguments.Get(0, "other");
  if (argument != nullptr) {
    if (name == "equalto" || name == "eq") return value.Equals(*argument);
    if (name == "in") return Contains(*argument, value);
  }
  return Fail(absl::StrCat("the test '", name, "' is not supported"));
}

absl::StatusOr<Value> CallMethod(const Value& value, const std::string& name,
                                 const Arguments& arguments) {
  const Value* first = arguments.Get(0, "");
  if (value.kind == Value::kString) {
    if (name == "strip") return Value::Of(Strip(value.text, first, true, true));
    if (name == "lstrip") return Value::Of(Strip(value.text, first, true, false));
    if (name == "rstrip") return Value::Of(Strip(value.text, first, false, true));
    if (name == "split") return Split(value.text, arguments);
    if (name == "upper" || name == "lower" || name == "title" || name == "capitalize" ||
        name == "replace") {
      return ApplyFilter(name, value, arguments);
    }
    if (first != nullptr && first->kind == Value::kString) {
      if (name == "startswith") return Value::Of(absl::StartsWith(value.text, first->text));
      if (name == "endswith") return Value::Of(absl::EndsWith(value.text, first->text));
    }
  }
  if (value.kind == Value::kDict) {
    if (name == "items") return DictItems(value);
    if (name == "get" && first != nullptr) {
      const Value* found = value.Find(first->text);
      if (found != nullptr) return *found;
      const Value* otherwise = arguments.Get(1, "default");
      return otherwise == nullptr ? Value::None() : *otherwise;
    }
    if (name == "keys") {
      ASSIGN_OR_RETURN(Value::List keys, Iterate(value));
      return Value::OfList(std::move(keys));
    }
  }
  return Fail(absl::StrCat("the method '", name, "' of ", value.Repr(), " is not supported"));
}

absl::StatusOr<Value> ApplyOperator(const std::string& op, const Value& left, const Value& right) {
  if (op == "==") return Value::Of(left.Equals(right));
  if (op == "!=") return Value::Of(!left.Equals(right));
  if (op == "~") return Value::Of(left.Print() + right.Print());
  if (op == "in" || op == "not in") {
    ASSIGN_OR_RETURN(const bool contains, Contains(right, left));
    return Value::Of(contains == (op == "in"));
  }
  if (op == "<" || op == ">" || op == "<=" || op == ">=") {
    double order;
    if (left.kind == Value::kString && right.kind == Value::kString) {
      order = left.text.compare(right.text);
    } else if (left.IsNumber() && right.IsNumber()) {
      order = left.AsNumber() - right.AsNumber();
    } else {
      return Fail(absl::StrCat("'", op, "' of ", left.Repr(), " and ", right.Repr()));
    }
    return Value::Of(op == "<"    ? order < 0
                     : op == ">"  ? order > 0
                     : op == "<=" ? order <= 0
                                  : order >= 0);
  }
  if (op == "+" && left.kind == Value::kString && right.kind == Value::kString) {
    return Value::Of(left.text + right.text);
  }
  if (op == "+" && left.kind == Value::kList && right.kind == Value::kList) {
    Value::List items = *left.list;
    items.insert(items.end(), right.list->begin(), right.list->end());
    return Value::OfList(std::move(items));
  }
  if (op == "*" && left.kind == Value::kString && right.kind == Value::kInt) {
    if (right.integer > 10000) return Fail("a string repeated too often");
    std::string out;
    for (int64_t i = 0; i < right.integer; ++i) out += left.text;
    return Value::Of(out);
  }
  return Arithmetic(op, left, right);
}

absl::StatusOr<Value> Subscript(const Value& value, const Value& index) {
  if (value.kind == Value::kDict) {
    const Value* found = value.Find(index.text);
    return found == nullptr ? Value() : *found;
  }
  if (value.kind == Value::kUndefined || value.kind == Value::kNone) {
    return Fail(absl::StrCat("[", index.Repr(), "] of ", value.Repr()));
  }
  if (index.kind != Value::kInt) return Value();
  ASSIGN_OR_RETURN(const Value::List items, Iterate(value));
  const int64_t n = static_cast<int64_t>(items.size());
  const int64_t at = index.integer < 0 ? index.integer + n : index.integer;
  if (at < 0 || at >= n) return Value();
  return items[static_cast<size_t>(at)];
}

absl::StatusOr<Value> Slice(const Value& value, const Value& begin, const Value& end,
                            const Value& step) {
  ASSIGN_OR_RETURN(const Value::List items, Iterate(value));
  const int64_t n = static_cast<int64_t>(items.size());
  const int64_t by = step.kind == Value::kInt ? step.integer : 1;
  if (by == 0) return Fail("a slice with step 0");
  auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.kind != Value::kInt) return otherwise;
    const int64_t at = v.integer < 0 ? v.integer + n : v.integer;
    return std::clamp<int64_t>(at, by > 0 ? 0 : -1, by > 0 ? n : n - 1);
  };
  Value::List picked;
  const int64_t from = bound(begin, by > 0 ? 0 : n - 1), to = bound(end, by > 0 ? n : -1);
  for (int64_t i = from; by > 0 ? i < to : i > to; i += by) {
    picked.push_back(items[static_cast<size_t>(i)]);
  }
  if (value.kind != Value::kString) return Value::OfList(std::move(picked));
  std::string text;
  for (const Value& c : picked) text += c.text;
  return Value::Of(text);
}

}  // namespace whetstone::jinja
