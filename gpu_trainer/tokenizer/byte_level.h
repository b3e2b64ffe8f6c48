// GPT-2's alphabet is reversible: every byte has a printable character, so that tokens can be
// written as text in a JSON file. Printable Latin-1 stands for itself, the other bytes for U+0100
// and up.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_BYTE_LEVEL_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_BYTE_LEVEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// Returns the character of each byte.
const std::array<char32_t, 256>& ByteAlphabet();

// Returns the bytes that a text of this alphabet spells; nothing if a character is outside it.
std::optional<std::string> BytesOfAlphabet(absl::string_view text);

// Returns the bytes a token stands for. A token with a character outside the alphabet (an added
// token with a blank, say) stands for its own UTF-8.
std::string BytesOfToken(absl::string_view token);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_BYTE_LEVEL_H_
