// The digests are SHA-256, hexadecimal in lower case.
#ifndef WHETSTONE_COMMON_SHA256_H_
#define WHETSTONE_COMMON_SHA256_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

std::string Sha256Hex(absl::string_view bytes);

// Returns the digest of a file's content, which is read in pieces. NOT_FOUND and the like name the
// path.
absl::StatusOr<std::string> Sha256HexOfFile(const std::string& path);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_SHA256_H_
