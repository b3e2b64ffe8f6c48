// CRC-32C (Castagnoli), the checksum of iSCSI, ext4 and TFRecord: finds flipped bits and torn
// writes, not tampering.
#ifndef WHETSTONE_COMMON_CRC32C_H_
#define WHETSTONE_COMMON_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace whetstone {

// The checksum of what has `crc` as its checksum (0: nothing), followed by `bytes`.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_CRC32C_H_
