// A Value of the template language is what Python would hold.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_VALUE_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace whetstone::jinja {

// Lists and dictionaries are shared, as in Python: a namespace changed in a loop is changed
// outside.
struct Value {
  enum Kind { kUndefined, kNone, kBool, kInt, kFloat, kString, kList, kDict };
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<std::string, Value>>;  // in order of insertion

  Kind kind = kUndefined;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::shared_ptr<List> list;
  std::shared_ptr<Dict> dict;

  static Value None();
  static Value Of(bool value);
  static Value Of(int64_t value);
  static Value Of(double value);
  static Value Of(std::string value);
  static Value Of(const char* value) { return Of(std::string(value)); }
  static Value OfList(List items);
  static Value OfDict(Dict items);

  bool Truthy() const;
  bool IsNumber() const { return kind == kBool || kind == kInt || kind == kFloat; }
  double AsNumber() const;
  // Returns what {{ value }} prints.
  std::string Print() const;
  // Returns Python's repr, as lists print their items.
  std::string Repr() const;
  // Returns json.dumps(value, ensure_ascii=False); indent < 0: one line.
  std::string ToJson(int64_t indent = -1, int64_t depth = 0) const;
  bool Equals(const Value& other) const;
  // Returns a dictionary's entry, or null.
  const Value* Find(const std::string& key) const;
  void Set(const std::string& key, Value value);  // kDict only
};

}  // namespace whetstone::jinja

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_VALUE_H_
