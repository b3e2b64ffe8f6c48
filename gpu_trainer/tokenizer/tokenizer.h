// The tokenizer is byte-level BPE as tokenizer.json of a Hugging Face directory describes it; its
// ids are those of the `tokenizers` library.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(directory));
//   std::vector<int32_t> ids = tokenizer->Encode("<|im_start|>user\nHello");
//   std::string text = tokenizer->Decode(ids, Tokenizer::kKeepSpecial);
//
// It supports normalizer NFC; pre-tokenizers ByteLevel, Digits, Split and Sequence; model BPE with
// merges as strings or pairs and ignore_merges; added tokens with all their flags; decoder
// ByteLevel. Anything else in the file is an error, because ignoring it would give other ids. The
// post-processor, which adds special tokens, is not applied: Encode adds none. Immutable and
// thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_TOKENIZER_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

class Tokenizer {
 public:
  enum Special { kKeepSpecial, kSkipSpecial };

  // Reads DIRECTORY/tokenizer.json. NOT_FOUND: no such file. INVALID_ARGUMENT: damaged, or
  // something this tokenizer does not support (named).
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Load(const std::string& directory);
  // `where` names the source in errors.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Parse(absl::string_view json,
                                                          const std::string& where);
  ~Tokenizer();

  // Special and other added tokens in the text become their ids. Bytes that are not UTF-8 count as
  // U+FFFD.
  std::vector<int32_t> Encode(absl::string_view text) const;

  // Returns `text` as it is before it is cut into tokens: valid UTF-8, in the normal form that the
  // file asks for. A whole tokenizer's Decode gives it back.
  std::string Normalized(absl::string_view text) const;

  // Returns valid UTF-8 whatever the ids: broken sequences become U+FFFD, unknown ids nothing.
  std::string Decode(const std::vector<int32_t>& ids, Special special) const;

  // Returns a token's bytes, which may be part of a character; none for an unknown id.
  absl::string_view TokenBytes(int32_t id) const;
  bool IsSpecial(int32_t id) const;
  // Returns the id of a token as tokenizer.json spells it ("<|im_end|>").
  std::optional<int32_t> IdOf(absl::string_view token) const;
  // Returns one more than the highest id.
  int32_t size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_TOKENIZER_H_
