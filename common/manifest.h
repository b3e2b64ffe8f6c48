// A manifest lists a directory's files with their sizes and SHA-256, and so tells whether any byte
// of a checkpoint was lost or changed, where it was saved and where it was brought to.
#ifndef WHETSTONE_COMMON_MANIFEST_H_
#define WHETSTONE_COMMON_MANIFEST_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct FileDigest {
  int64_t bytes = 0;
  std::string sha256;
};

// A checkpoint holds its own manifest here; that does not name itself.
inline constexpr char kManifestFile[] = "resume/manifest.json";

// The key is a path relative to the directory.
using Manifest = std::map<std::string, FileDigest>;

// Returns the manifest of all regular files below `directory`.
absl::StatusOr<Manifest> DigestDirectory(const std::string& directory);

// Returns the manifest of a model's own files in a Hugging Face directory: configuration,
// tokenizer, chat template and weights.
absl::StatusOr<Manifest> DigestModel(const std::string& directory);

// Returns the SHA-256 over the lines "NAME SHA256\n".
std::string ChecksumOf(const Manifest& manifest);
int64_t BytesOf(const Manifest& manifest);

std::string ManifestToJson(const Manifest& manifest);
// `where` names the file in errors.
absl::StatusOr<Manifest> ParseManifest(absl::string_view json, const std::string& where);

// INVALID_ARGUMENT: the first file of `manifest` that `directory` lacks or holds differently.
// Files that the manifest does not name are not looked at.
absl::Status VerifyDirectory(const std::string& directory, const Manifest& manifest);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_MANIFEST_H_
