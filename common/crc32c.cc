#include "common/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace whetstone {
namespace {

// kCrcTables[k][b]: the remainder of byte b with k zero bytes after it, so that eight bytes are
// taken at a time ("slicing by 8").
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables MakeCrcTables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = tables[0][before & 0xff] ^ (before >> 8);
    }
  }
  return tables;
}

constexpr CrcTables kCrcTables = MakeCrcTables();

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
  crc = ~crc;
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);  // little-endian, as all we run on
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kCrcTables[7 - k][(word >> (8 * k)) & 0xff];
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) {
    crc = kCrcTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

}  // namespace whetstone
