#include "coordinator/prompt/yaml_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/prompt/prompt_sections.h"

namespace whetstone {
namespace {

// Stands for a comma inside parentheses while yaml-cpp reads: a private-use character, U+E000.
constexpr char kProtectedComma[] = "\xee\x80\x80";
constexpr int kDepthMax = 8;
constexpr size_t kElementsMax = 256;

// Replaces commas in parentheses within flow collections; everything else stays as it is. Refuses
// nesting that no valid front matter has, so that no recursive reader sees it.
class CommaProtector {
 public:
  CommaProtector(absl::string_view text, absl::string_view name, int first_line)
      : text_(text), name_(name), line_(first_line) {}

  absl::StatusOr<std::string> Run() {
    while (at_ < text_.size()) {
      if (depth_ > 0) {
        RETURN_IF_ERROR(Flow());
      } else {
        RETURN_IF_ERROR(Block());
      }
    }
    if (depth_ > 0) {
      return PromptError(name_, open_line_, "a '{' or '[' opened here is never closed");
    }
    return std::move(out_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';
  }
  void Copy() {
    if (text_[at_] == '\n') ++line_;
    out_ += text_[at_++];
  }
  void CopyQuoted() {
    const char quote = Peek();
    Copy();
    while (at_ < text_.size() && Peek() != quote) {
      if (quote == '"' && Peek() == '\\' && at_ + 1 < text_.size()) Copy();
      Copy();
    }
    if (at_ < text_.size()) Copy();
  }
  void CopyLine() {
    while (at_ < text_.size() && Peek() != '\n') Copy();
    if (at_ < text_.size()) Copy();
  }
  absl::Status Open() {
    if (depth_ == 0) open_line_ = line_;
    if (++depth_ > kDepthMax) return PromptError(name_, line_, "nested too deeply");
    parentheses_ = 0;
    Copy();
    return absl::OkStatus();
  }

  // One line outside of flow collections: only a value's first character can open one.
  absl::Status Block() {
    bool value_start = true;
    int dashes = 0;
    while (at_ < text_.size() && Peek() != '\n') {
      const char c = Peek();
      if (value_start && (c == '{' || c == '[')) return Open();
      if (value_start && (c == '"' || c == '\'')) {
        CopyQuoted();
        value_start = false;
        continue;
      }
      if (c == '#' && (out_.empty() || out_.back() == ' ' || out_.back() == '\n')) {
        CopyLine();
        return absl::OkStatus();
      }
      const bool separator =
          (c == ':' || (c == '-' && value_start)) && (Peek(1) == ' ' || Peek(1) == '\n');
      if (c == '-' && separator && ++dashes > kDepthMax) {
        return PromptError(name_, line_, "nested too deeply");
      }
      if (separator) {
        value_start = true;
      } else if (c != ' ') {
        value_start = false;
      }
      Copy();
    }
    if (at_ < text_.size()) Copy();
    return absl::OkStatus();
  }

  // One character inside a flow collection.
  absl::Status Flow() {
    const char c = Peek();
    const char before = out_.empty() ? '\n' : out_.back();
    const bool token_start = before == ' ' || before == '\n' || before == '{' || before == '[' ||
                             before == ',' || before == ':';
    if (token_start && (c == '"' || c == '\'')) {
      CopyQuoted();
    } else if (token_start && c == '#') {
      CopyLine();
    } else if (c == '{' || c == '[') {
      return Open();
    } else if (c == '}' || c == ']') {
      --depth_;
      parentheses_ = 0;
      Copy();
    } else if (c == ',' && parentheses_ > 0) {
      out_ += kProtectedComma;
      ++at_;
    } else {
      if (c == '(') ++parentheses_;
      if (c == ')' && parentheses_ > 0) --parentheses_;
      Copy();
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  absl::string_view name_;
  int line_;
  int open_line_ = 0;
  int depth_ = 0;
  int parentheses_ = 0;
  size_t at_ = 0;
  std::string out_;
};

std::string TypeName(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a map";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "a plain value";
    default:
      return "nothing";
  }
}

std::string Restore(const std::string& scalar) {
  return absl::StrReplaceAll(scalar, {{kProtectedComma, ","}});
}

}  // namespace

absl::StatusOr<YamlMap> YamlMap::Parse(absl::string_view text, absl::string_view name,
                                       int first_line) {
  auto source = std::make_shared<Source>(Source{std::string(name), first_line});
  if (absl::StrContains(text, kProtectedComma)) {
    return PromptError(name, first_line, "the character U+E000 may not stand in front matter");
  }
  ASSIGN_OR_RETURN(const std::string yaml, CommaProtector(text, name, first_line).Run());
  YAML::Node root;
  try {
    root = YAML::Load(yaml);
  } catch (const YAML::Exception& e) {
    const int line = e.mark.is_null() ? first_line : e.mark.line + first_line;
    return PromptError(name, line, absl::StrCat("not valid YAML: ", e.msg));
  }
  if (root.IsNull()) {
    YamlMap empty(source, "");
    empty.line_ = first_line;
    return empty;
  }
  return FromNode(source, "", root);
}

absl::StatusOr<YamlMap> YamlMap::FromNode(std::shared_ptr<const Source> source, std::string path,
                                          const YAML::Node& node) {
  YamlMap map(std::move(source), std::move(path));
  map.line_ = map.LineOf(node);
  if (!node.IsMap()) {
    const std::string what = map.path_.empty() ? "front matter" : absl::StrCat("'", map.path_, "'");
    return map.ErrorAt(map.line_,
                       absl::StrCat(what, " must be a map (key: value), not ", TypeName(node)));
  }
  if (node.size() > kElementsMax) {
    return map.ErrorAt(map.line_, absl::StrCat("more than ", kElementsMax, " keys"));
  }
  for (const auto& entry : node) {
    if (!entry.first.IsScalar())
      return map.ErrorAt(map.LineOf(entry.first), "a key must be a word");
    std::string key = Restore(entry.first.Scalar());
    if (map.Has(key)) {
      return map.ErrorAt(map.LineOf(entry.first),
                         absl::StrCat("key '", map.Path(key), "' stands here a second time"));
    }
    map.keys_.push_back(std::move(key));
    map.values_.push_back(entry.second);
  }
  return map;
}

const YAML::Node* YamlMap::Find(absl::string_view key) const {
  const auto it = std::find(keys_.begin(), keys_.end(), key);
  return it == keys_.end() ? nullptr : &values_[it - keys_.begin()];
}

bool YamlMap::Has(absl::string_view key) const { return Find(key) != nullptr; }

bool YamlMap::IsMap(absl::string_view key) const {
  const YAML::Node* node = Find(key);
  return node != nullptr && node->IsMap();
}

bool YamlMap::IsList(absl::string_view key) const {
  const YAML::Node* node = Find(key);
  return node != nullptr && node->IsSequence();
}

absl::Status YamlMap::AllowOnly(const std::vector<std::string>& known) const {
  for (const std::string& key : keys_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Error(key,
                 absl::StrCat("unknown key '", Path(key), "'; did you mean '", Nearest(key, known),
                              "'? Valid keys: ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> YamlMap::Scalar(absl::string_view key,
                                            absl::string_view expected) const {
  const YAML::Node* node = Find(key);
  if (node == nullptr) {
    return ErrorAt(line_, absl::StrCat("key '", Path(key), "' is missing"));
  }
  if (!node->IsScalar()) {
    return Error(key,
                 absl::StrCat("'", Path(key), "' must be ", expected, ", not ", TypeName(*node)));
  }
  return Restore(node->Scalar());
}

absl::StatusOr<std::string> YamlMap::String(absl::string_view key) const {
  return Scalar(key, "a plain value");
}

absl::StatusOr<double> YamlMap::Number(absl::string_view key) const {
  ASSIGN_OR_RETURN(const std::string text, Scalar(key, "a number"));
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return Error(key, absl::StrCat("'", Path(key), "' must be a number, not '", text, "'"));
  }
  return value;
}

absl::StatusOr<int64_t> YamlMap::Integer(absl::string_view key) const {
  ASSIGN_OR_RETURN(const std::string text, Scalar(key, "an integer"));
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return Error(key, absl::StrCat("'", Path(key), "' must be an integer, not '", text, "'"));
  }
  return value;
}

absl::StatusOr<bool> YamlMap::Bool(absl::string_view key) const {
  ASSIGN_OR_RETURN(const std::string text, Scalar(key, "true or false"));
  if (text == "true") return true;
  if (text == "false") return false;
  return Error(key, absl::StrCat("'", Path(key), "' must be true or false, not '", text, "'"));
}

absl::StatusOr<std::vector<std::string>> YamlMap::Strings(absl::string_view key) const {
  const YAML::Node* node = Find(key);
  if (node == nullptr) {
    return ErrorAt(line_, absl::StrCat("key '", Path(key), "' is missing"));
  }
  if (!node->IsSequence()) {
    return Error(key,
                 absl::StrCat("'", Path(key), "' must be a list [a, b], not ", TypeName(*node)));
  }
  if (node->size() > kElementsMax) {
    return Error(key, absl::StrCat("'", Path(key), "' has more than ", kElementsMax, " elements"));
  }
  std::vector<std::string> result;
  for (const YAML::Node& element : *node) {
    if (!element.IsScalar()) {
      return ErrorAt(LineOf(element),
                     absl::StrCat("an element of '", Path(key), "' must be a plain value, not ",
                                  TypeName(element)));
    }
    result.push_back(Restore(element.Scalar()));
  }
  return result;
}

absl::StatusOr<YamlMap> YamlMap::Map(absl::string_view key) const {
  const YAML::Node* node = Find(key);
  if (node == nullptr) {
    return ErrorAt(line_, absl::StrCat("key '", Path(key), "' is missing"));
  }
  return FromNode(source_, Path(key), *node);
}

absl::StatusOr<std::vector<YamlMap>> YamlMap::Maps(absl::string_view key,
                                                   absl::string_view element_key) const {
  const YAML::Node* node = Find(key);
  if (node == nullptr) {
    return ErrorAt(line_, absl::StrCat("key '", Path(key), "' is missing"));
  }
  if (!node->IsSequence()) {
    return Error(key, absl::StrCat("'", Path(key), "' must be a list, not ", TypeName(*node)));
  }
  if (node->size() > kElementsMax) {
    return Error(key, absl::StrCat("'", Path(key), "' has more than ", kElementsMax, " elements"));
  }
  std::vector<YamlMap> result;
  for (const YAML::Node& element : *node) {
    const std::string path = absl::StrCat(Path(key), "[", result.size(), "]");
    if (!element.IsScalar()) {
      ASSIGN_OR_RETURN(YamlMap map, FromNode(source_, path, element));
      result.push_back(std::move(map));
      continue;
    }
    if (element_key.empty()) {
      return ErrorAt(LineOf(element), absl::StrCat("'", path, "' must be a map"));
    }
    YamlMap map(source_, path);
    map.line_ = LineOf(element);
    map.keys_.emplace_back(element_key);
    map.values_.push_back(element);
    result.push_back(std::move(map));
  }
  return result;
}

int YamlMap::line(absl::string_view key) const {
  const YAML::Node* node = Find(key);
  return node == nullptr ? line_ : LineOf(*node);
}

std::string YamlMap::Path(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

absl::Status YamlMap::Error(absl::string_view key, absl::string_view what) const {
  return ErrorAt(line(key), what);
}

int YamlMap::LineOf(const YAML::Node& node) const {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? std::max(line_, source_->first_line) : mark.line + source_->first_line;
}

absl::Status YamlMap::ErrorAt(int line, absl::string_view what) const {
  return PromptError(source_->name, line, what);
}

}  // namespace whetstone
