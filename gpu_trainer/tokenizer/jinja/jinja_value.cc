#include "gpu_trainer/tokenizer/jinja/jinja_value.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace whetstone::jinja {
namespace {

std::string PrintFloat(double number) {
  // Python prints the shortest text that reads back the same, with ".0" for whole numbers.
  const std::string text = nlohmann::json(number).dump();
  return text;
}

}  // namespace

Value Value::None() {
  Value v;
  v.kind = kNone;
  return v;
}
Value Value::Of(bool value) {
  Value v;
  v.kind = kBool;
  v.boolean = value;
  return v;
}
Value Value::Of(int64_t value) {
  Value v;
  v.kind = kInt;
  v.integer = value;
  return v;
}
Value Value::Of(double value) {
  Value v;
  v.kind = kFloat;
  v.number = value;
  return v;
}
Value Value::Of(std::string value) {
  Value v;
  v.kind = kString;
  v.text = std::move(value);
  return v;
}
Value Value::OfList(List items) {
  Value v;
  v.kind = kList;
  v.list = std::make_shared<List>(std::move(items));
  return v;
}
Value Value::OfDict(Dict items) {
  Value v;
  v.kind = kDict;
  v.dict = std::make_shared<Dict>(std::move(items));
  return v;
}

bool Value::Truthy() const {
  switch (kind) {
    case kUndefined:
    case kNone:
      return false;
    case kBool:
      return boolean;
    case kInt:
      return integer != 0;
    case kFloat:
      return number != 0;
    case kString:
      return !text.empty();
    case kList:
      return !list->empty();
    case kDict:
      return !dict->empty();
  }
  return false;
}

double Value::AsNumber() const {
  if (kind == kBool) return boolean ? 1 : 0;
  return kind == kInt ? static_cast<double>(integer) : number;
}

std::string Value::Print() const {
  if (kind == kString) return text;
  if (kind == kUndefined) return "";
  return Repr();
}

std::string Value::Repr() const {
  switch (kind) {
    case kUndefined:
      return "Undefined";
    case kNone:
      return "None";
    case kBool:
      return boolean ? "True" : "False";
    case kInt:
      return absl::StrCat(integer);
    case kFloat:
      return PrintFloat(number);
    case kString: {
      const bool single =
          text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
      const char quote = single ? '"' : '\'';
      std::string out(1, quote);
      for (const char c : text) {
        if (c == '\n') {
          out += "\\n";
        } else if (c == '\t') {
          out += "\\t";
        } else {
          if (c == '\\' || c == quote) out += '\\';
          out += c;
        }
      }
      return out + quote;
    }
    case kList: {
      std::string out = "[";
      for (size_t i = 0; i < list->size(); ++i) {
        absl::StrAppend(&out, i == 0 ? "" : ", ", (*list)[i].Repr());
      }
      return out + "]";
    }
    case kDict: {
      std::string out = "{";
      for (size_t i = 0; i < dict->size(); ++i) {
        absl::StrAppend(&out, i == 0 ? "" : ", ", Of((*dict)[i].first).Repr(), ": ",
                        (*dict)[i].second.Repr());
      }
      return out + "}";
    }
  }
  return "";
}

std::string Value::ToJson(int64_t indent, int64_t depth) const {
  const std::string line = indent < 0 ? "" : "\n" + std::string(indent * (depth + 1), ' ');
  const std::string last = indent < 0 ? "" : "\n" + std::string(indent * depth, ' ');
  const char* comma = indent < 0 ? ", " : ",";
  switch (kind) {
    case kUndefined:
    case kNone:
      return "null";
    case kBool:
      return boolean ? "true" : "false";
    case kInt:
      return absl::StrCat(integer);
    case kFloat:
      return PrintFloat(number);
    case kString:
      return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    case kList: {
      if (list->empty()) return "[]";
      std::string out = "[";
      for (size_t i = 0; i < list->size(); ++i) {
        absl::StrAppend(&out, i == 0 ? "" : comma, line, (*list)[i].ToJson(indent, depth + 1));
      }
      return out + last + "]";
    }
    case kDict: {
      if (dict->empty()) return "{}";
      std::string out = "{";
      for (size_t i = 0; i < dict->size(); ++i) {
        absl::StrAppend(&out, i == 0 ? "" : comma, line, Of((*dict)[i].first).ToJson(), ": ",
                        (*dict)[i].second.ToJson(indent, depth + 1));
      }
      return out + last + "}";
    }
  }
  return "";
}

bool Value::Equals(const Value& other) const {
  if (IsNumber() && other.IsNumber()) return AsNumber() == other.AsNumber();
  if (kind != other.kind) return false;
  switch (kind) {
    case kString:
      return text == other.text;
    case kList: {
      if (list->size() != other.list->size()) return false;
      for (size_t i = 0; i < list->size(); ++i) {
        if (!(*list)[i].Equals((*other.list)[i])) return false;
      }
      return true;
    }
    case kDict: {
      if (dict->size() != other.dict->size()) return false;
      for (const auto& [key, value] : *dict) {
        const Value* found = other.Find(key);
        if (found == nullptr || !value.Equals(*found)) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

const Value* Value::Find(const std::string& key) const {
  if (kind != kDict) return nullptr;
  for (const auto& [name, value] : *dict) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Value::Set(const std::string& key, Value value) {
  for (auto& [name, old] : *dict) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  dict->emplace_back(key, std::move(value));
}

}  // namespace whetstone::jinja
