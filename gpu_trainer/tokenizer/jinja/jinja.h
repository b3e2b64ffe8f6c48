// The part of the Jinja template language that chat templates use: output, if, for, set, macro,
// namespaces, slices, the common filters, tests and string methods. What is missing is an error
// that names it, never a guess.
//
//   ASSIGN_OR_RETURN(JinjaTemplate t, JinjaTemplate::Parse("Hi {{ name | upper }}"));
//   t.Render({{"name", jinja::Value::Of("ada")}});      // "Hi ADA"
//
// Immutable and thread-safe after Parse.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/tokenizer/jinja/jinja_value.h"

namespace whetstone {

namespace jinja {
struct Node;
}

class JinjaTemplate {
 public:
  // INVALID_ARGUMENT: a syntax error or something unsupported, with its line.
  static absl::StatusOr<JinjaTemplate> Parse(absl::string_view source);

  // INVALID_ARGUMENT: raise_exception was called (its message), a wrong type, or a filter, test or
  // function that is not supported.
  absl::StatusOr<std::string> Render(const std::map<std::string, jinja::Value>& variables) const;

 private:
  std::shared_ptr<const std::vector<std::unique_ptr<jinja::Node>>> nodes_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_H_
