// Added tokens are whole stretches of text that become one id before anything else looks at the
// text (`added_tokens` of tokenizer.json), such as "<|im_start|>".
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_ADDED_TOKENS_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_ADDED_TOKENS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;      // left out by Decode(…, kSkipSpecial)
  bool normalized = true;    // matched in the normalised text, not in the raw one
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // swallows the white space before it
  bool rstrip = false;       // and after it
};

// Reads the JSON value of "added_tokens". INVALID_ARGUMENT: an entry without content or id. Throws
// json::exception where a value is of another type than its key promises.
absl::StatusOr<std::vector<AddedToken>> ParseAddedTokens(const nlohmann::json& list);

// A Segment is a stretch of text that is either still text or already a token.
struct Segment {
  std::string text;
  int32_t id;  // -1: text
};

// Finds added tokens in text as the `tokenizers` library does: leftmost first, the longest of those
// that start there, and the search goes on behind a match even if its neighbours forbid it.
// Thread-safe once filled.
class AddedTokenMatcher {
 public:
  // `text` is what to look for: the content, normalised where the token asks for it.
  void Add(const std::string& text, const AddedToken& token);
  // Cuts every text segment of `segments`, whose texts are valid UTF-8.
  void Cut(std::vector<Segment>* segments) const;

 private:
  struct Pattern {
    std::string text;
    AddedToken token;
  };
  void CutText(const std::string& text, std::vector<Segment>* out) const;
  const Pattern* MatchAt(absl::string_view rest) const;

  std::unordered_map<unsigned char, std::vector<Pattern>> by_first_byte_;  // longest first
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_ADDED_TOKENS_H_
