// Cuts text into the pieces that byte-pair merges never cross: `pre_tokenizer` of tokenizer.json.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_PRE_TOKENIZER_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_PRE_TOKENIZER_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// It is immutable and thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces every piece by its parts, in order; no empty piece remains. Pieces are valid UTF-8.
  virtual void Cut(std::vector<std::string>* pieces) const = 0;
};

// Reads the JSON value of "pre_tokenizer" (null: the text is one piece). ByteLevel, Digits, Split
// (isolated, not inverted) and Sequence of these are supported. INVALID_ARGUMENT otherwise.
absl::StatusOr<std::unique_ptr<PreTokenizer>> MakePreTokenizer(const nlohmann::json& value);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_PRE_TOKENIZER_H_
