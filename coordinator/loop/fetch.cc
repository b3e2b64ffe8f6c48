#include "coordinator/loop/fetch.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPieceBytes = 8 << 20;
// A fetch ends after this many tries in a row without a byte between them.
constexpr int kTriesMax = 60;

std::string Join(const std::string& directory, const std::string& name) {
  return absl::StrCat(directory, "/", name);
}

int64_t SizeOf(const std::string& path) {
  std::error_code none;
  const uintmax_t size = fs::file_size(path, none);
  return none ? 0 : static_cast<int64_t>(size);
}

absl::StatusOr<std::string> ReadPatiently(const FetchHooks& hooks, const std::string& file,
                                          int64_t offset) {
  for (int tries = 1;; ++tries) {
    absl::StatusOr<std::string> piece = hooks.read(file, offset, kPieceBytes);
    const bool passing =
        absl::IsUnavailable(piece.status()) || absl::IsDeadlineExceeded(piece.status());
    if (!passing || tries == kTriesMax) return piece;
    RETURN_IF_ERROR(hooks.wait(piece.status()));
  }
}

absl::StatusOr<std::string> ReadManifest(const FetchHooks& hooks) {
  std::string text;
  while (true) {
    ASSIGN_OR_RETURN(const std::string piece,
                     ReadPatiently(hooks, kManifestFile, static_cast<int64_t>(text.size())));
    text += piece;
    if (static_cast<int64_t>(piece.size()) < kPieceBytes) return text;
  }
}

absl::Status CheckRoom(const std::string& directory, int64_t bytes) {
  struct statvfs info;
  if (statvfs(directory.c_str(), &info) != 0) return absl::OkStatus();  // the writing will tell
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  if (free >= static_cast<double>(bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s has %.2f GB free and %.2f GB are to come: free some, or name another "
                      "place with --to",
                      directory, free / 1e9, static_cast<double>(bytes) / 1e9));
}

absl::Status Append(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// Fetches what is missing of one file, and adds its bytes to `done`.
absl::Status FetchFile(const FetchHooks& hooks, const std::string& name, const FileDigest& digest,
                       const std::string& path, int64_t total, int64_t* done) {
  RETURN_IF_ERROR(MakeDirectories(fs::path(path).parent_path().string()));
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  const absl::Cleanup close_fd = [fd] { close(fd); };
  for (int64_t have = SizeOf(path); have < digest.bytes;) {
    ASSIGN_OR_RETURN(const std::string piece, ReadPatiently(hooks, name, have));
    if (piece.empty()) {
      return absl::DataLossError(absl::StrCat("the trainer's ", name, " ends after ", have,
                                              " bytes instead of ", digest.bytes,
                                              ": the checkpoint was damaged over there"));
    }
    RETURN_IF_ERROR(Append(fd, piece, path));
    have += static_cast<int64_t>(piece.size());
    *done += static_cast<int64_t>(piece.size());
    if (hooks.on_progress) hooks.on_progress(*done, total);
  }
  if (fsync(fd) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot fsync ", path));
  return absl::OkStatus();
}

// Returns the checkpoint's size in bytes if `to` holds it already. ALREADY_EXISTS: something else
// is there.
absl::StatusOr<std::optional<int64_t>> BytesHere(const std::string& to,
                                                 const std::string& checksum) {
  if (!fs::exists(to)) return std::nullopt;
  const absl::StatusOr<std::string> text = ReadFile(Join(to, kManifestFile));
  if (text.ok()) {
    const absl::StatusOr<Manifest> manifest = ParseManifest(*text, Join(to, kManifestFile));
    if (manifest.ok() && ChecksumOf(*manifest) == checksum && VerifyDirectory(to, *manifest).ok()) {
      return BytesOf(*manifest);
    }
  }
  return absl::AlreadyExistsError(absl::StrCat(
      to,
      " exists and does not hold this checkpoint whole; remove it, or name another place with "
      "--to"));
}

// Removes what an earlier fetch left of another checkpoint, or has too much of.
absl::Status Prepare(const std::string& part, const std::string& text, const Manifest& manifest) {
  std::error_code error;
  const absl::StatusOr<std::string> before = ReadFile(Join(part, kManifestFile));
  if (!before.ok() || *before != text) fs::remove_all(part, error);
  RETURN_IF_ERROR(MakeDirectories(fs::path(Join(part, kManifestFile)).parent_path().string()));
  RETURN_IF_ERROR(WriteFileAtomically(Join(part, kManifestFile), text));
  for (const auto& [name, digest] : manifest) {
    if (SizeOf(Join(part, name)) > digest.bytes) fs::remove(Join(part, name), error);
  }
  return absl::OkStatus();
}

// A file that is not what it should be is removed, so that the next fetch brings it anew.
absl::Status Verify(const std::string& part, const Manifest& manifest) {
  for (const auto& [name, digest] : manifest) {
    const absl::Status same = VerifyDirectory(part, {{name, digest}});
    if (same.ok()) continue;
    std::error_code ignored;
    fs::remove(Join(part, name), ignored);
    return absl::DataLossError(
        absl::StrCat(name, " did not arrive as it was saved; fetch again. ", same.message()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Fetched> FetchCheckpoint(const std::string& checksum, const std::string& to,
                                        const FetchHooks& hooks) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> here, BytesHere(to, checksum));
  if (here.has_value()) return Fetched{.bytes = *here, .was_here = true};
  ASSIGN_OR_RETURN(const std::string text, ReadManifest(hooks));
  ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(text, "the trainer's manifest.json"));
  if (ChecksumOf(manifest) != checksum) {
    return absl::DataLossError(absl::StrCat(
        "the checkpoint on the trainer's machine has the checksum ", ChecksumOf(manifest),
        " and this run saved ", checksum, ": another run wrote over it"));
  }
  const std::string part = to + ".part";
  RETURN_IF_ERROR(Prepare(part, text, manifest));
  Fetched fetched{.bytes = BytesOf(manifest)};
  for (const auto& [name, digest] : manifest) fetched.bytes_before += SizeOf(Join(part, name));
  RETURN_IF_ERROR(CheckRoom(part, fetched.bytes - fetched.bytes_before));
  int64_t done = fetched.bytes_before;
  for (const auto& [name, digest] : manifest) {
    RETURN_IF_ERROR(FetchFile(hooks, name, digest, Join(part, name), fetched.bytes, &done));
  }
  RETURN_IF_ERROR(Verify(part, manifest));
  if (std::rename(part.c_str(), to.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot rename ", part, " to ", to));
  }
  return fetched;
}

}  // namespace whetstone
