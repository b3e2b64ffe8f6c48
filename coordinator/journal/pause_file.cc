#include "coordinator/journal/pause_file.h"

#include <unistd.h>

#include <cerrno>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"

namespace whetstone {

std::optional<absl::Time> ReadPauseFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  absl::Time since;
  if (!text.ok() ||
      !absl::ParseTime(absl::RFC3339_full, absl::StripAsciiWhitespace(*text), &since, nullptr)) {
    return std::nullopt;
  }
  return since;
}

absl::Status WritePauseFile(const std::string& path, absl::Time since) {
  return WriteFileAtomically(
      path, absl::StrCat(absl::FormatTime(absl::RFC3339_sec, since, absl::UTCTimeZone()), "\n"));
}

absl::Status RemovePauseFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

}  // namespace whetstone
