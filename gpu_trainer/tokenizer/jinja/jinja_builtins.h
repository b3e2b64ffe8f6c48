// These are the filters, tests, string methods and operators of the template language. Internal to
// jinja.cc.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_BUILTINS_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_BUILTINS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/tokenizer/jinja/jinja_value.h"

namespace whetstone::jinja {

struct Arguments {
  std::vector<Value> positional;
  Value::Dict named;

  // Returns an argument by position or by name; null when absent.
  const Value* Get(size_t position, absl::string_view name) const;
};

absl::StatusOr<Value> ApplyFilter(const std::string& name, const Value& value,
                                  const Arguments& arguments);
absl::StatusOr<bool> ApplyTest(const std::string& name, const Value& value,
                               const Arguments& arguments);
absl::StatusOr<Value> CallMethod(const Value& value, const std::string& name,
                                 const Arguments& arguments);
// Applies every binary operator except "and" and "or".
absl::StatusOr<Value> ApplyOperator(const std::string& op, const Value& left, const Value& right);
absl::StatusOr<Value> Subscript(const Value& value, const Value& index);
absl::StatusOr<Value> Slice(const Value& value, const Value& begin, const Value& end,
                            const Value& step);
// Returns what a loop walks over: a list's items, a dictionary's keys, a string's characters.
absl::StatusOr<Value::List> Iterate(const Value& value);

}  // namespace whetstone::jinja

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_BUILTINS_H_
