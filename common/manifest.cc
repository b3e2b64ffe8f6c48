#include "common/manifest.h"

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace whetstone {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The manifest of those files that `it` comes by and `wanted` says.
template <typename Iterator>
absl::StatusOr<Manifest> DigestFiles(const std::string& directory,
                                     const std::function<bool(const fs::path&)>& wanted) {
  Manifest manifest;
  std::error_code error;
  for (Iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error) || !wanted(it->path())) continue;
    const std::string path = it->path().string();
    ASSIGN_OR_RETURN(const std::string sha256, Sha256HexOfFile(path));
    manifest[fs::relative(it->path(), directory).string()] = {
        .bytes = static_cast<int64_t>(fs::file_size(it->path(), error)), .sha256 = sha256};
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot list ", directory));
  return manifest;
}

}  // namespace

absl::StatusOr<Manifest> DigestDirectory(const std::string& directory) {
  return DigestFiles<fs::recursive_directory_iterator>(directory,
                                                       [](const fs::path&) { return true; });
}

absl::StatusOr<Manifest> DigestModel(const std::string& directory) {
  return DigestFiles<fs::directory_iterator>(directory, [](const fs::path& path) {
    const std::string kind = path.extension().string();
    return kind == ".json" || kind == ".jinja" || kind == ".safetensors";
  });
}

std::string ChecksumOf(const Manifest& manifest) {
  std::string lines;
  for (const auto& [name, digest] : manifest)
    absl::StrAppend(&lines, name, " ", digest.sha256, "\n");
  return Sha256Hex(lines);
}

int64_t BytesOf(const Manifest& manifest) {
  int64_t bytes = 0;
  for (const auto& [name, digest] : manifest) bytes += digest.bytes;
  return bytes;
}

std::string ManifestToJson(const Manifest& manifest) {
  json files = json::object();
  for (const auto& [name, digest] : manifest) {
    files[name] = {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
  }
  return json{{"format", 1}, {"files", files}}.dump(1) + "\n";
}

absl::StatusOr<Manifest> ParseManifest(absl::string_view text, const std::string& where) {
  const json parsed = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  const auto damaged = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", what, "; the checkpoint is damaged, use an older one"));
  };
  if (!parsed.is_object() || !parsed.contains("files") || !parsed["files"].is_object()) {
    return damaged("not a manifest");
  }
  if (parsed.value("format", json()) != 1) return damaged("not format 1");
  Manifest manifest;
  for (const auto& [name, entry] : parsed["files"].items()) {
    if (!entry.is_object() || !entry.contains("bytes") || !entry["bytes"].is_number_integer() ||
        !entry.contains("sha256") || !entry["sha256"].is_string()) {
      return damaged(absl::StrCat("no bytes and sha256 for ", name));
    }
    if (fs::path(name).is_absolute() || name.find("..") != std::string::npos) {
      return damaged(absl::StrCat("'", name, "' is outside the checkpoint"));
    }
    manifest[name] = {.bytes = entry["bytes"].get<int64_t>(),
                      .sha256 = entry["sha256"].get<std::string>()};
  }
  return manifest;
}

absl::Status VerifyDirectory(const std::string& directory, const Manifest& manifest) {
  for (const auto& [name, digest] : manifest) {
    const std::string path = absl::StrCat(directory, "/", name);
    std::error_code error;
    const uintmax_t bytes = fs::file_size(path, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is missing (", error.message(),
                       "); the checkpoint is damaged, use an older one"));
    }
    if (static_cast<int64_t>(bytes) != digest.bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has ", bytes, " bytes instead of ", digest.bytes,
                       "; the checkpoint is damaged, use an older one"));
    }
    ASSIGN_OR_RETURN(const std::string sha256, Sha256HexOfFile(path));
    if (sha256 != digest.sha256) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " was changed: SHA-256 ", sha256, " instead of ", digest.sha256,
                       "; the checkpoint is damaged, use an older one"));
    }
  }
  return absl::OkStatus();
}

}  // namespace whetstone
