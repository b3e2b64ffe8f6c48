#include "gpu_trainer/tokenizer/byte_level.h"

#include "common/utf8.h"

namespace whetstone {
namespace {

bool StandsForItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<char32_t, 256> MakeAlphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    alphabet[static_cast<size_t>(byte)] =
        StandsForItself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return alphabet;
}

}  // namespace

const std::array<char32_t, 256>& ByteAlphabet() {
  static const std::array<char32_t, 256> kAlphabet = MakeAlphabet();
  return kAlphabet;
}

std::optional<std::string> BytesOfAlphabet(absl::string_view text) {
  static const std::array<int, 512> kByteOf = [] {
    std::array<int, 512> bytes;
    bytes.fill(-1);
    for (int byte = 0; byte < 256; ++byte) bytes[ByteAlphabet()[static_cast<size_t>(byte)]] = byte;
    return bytes;
  }();
  std::string bytes;
  for (absl::string_view rest = text; !rest.empty();) {
    const Utf8Step step = DecodeUtf8(rest);
    if (step.code >= kByteOf.size() || kByteOf[step.code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kByteOf[step.code]));
    rest.remove_prefix(step.bytes);
  }
  return bytes;
}

std::string BytesOfToken(absl::string_view token) {
  return BytesOfAlphabet(token).value_or(std::string(token));
}

}  // namespace whetstone
