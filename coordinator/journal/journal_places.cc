// Journal's dealings with where its file lies: on a network file system, or where this process may
// not write.
#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/network_file_system.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

// What belongs to a database: the file, and what is not in it yet or must be taken back.
constexpr std::array<const char*, 3> kParts = {"", "-wal", "-journal"};
constexpr int kCopiesMax = 5;

// What changes with every change of these files; a missing one has no size.
std::array<std::pair<uintmax_t, fs::file_time_type>, 3> Stamp(const std::string& path) {
  std::array<std::pair<uintmax_t, fs::file_time_type>, 3> stamp;
  for (size_t i = 0; i < kParts.size(); ++i) {
    std::error_code ignored;
    const std::string part = path + kParts[i];
    stamp[i] = {fs::file_size(part, ignored), fs::last_write_time(part, ignored)};
  }
  return stamp;
}

// Copies the parts of a database that nobody changes meanwhile. UNAVAILABLE: somebody does.
absl::Status CopyParts(const std::string& from, const std::string& to) {
  for (int copy = 0; copy < kCopiesMax; ++copy) {
    const auto before = Stamp(from);
    std::error_code error;
    for (const char* part : kParts) {
      fs::remove(to + part, error);
      if (!fs::exists(from + part, error)) continue;
      if (fs::copy_file(from + part, to + part, error)) {
        fs::permissions(to + part, fs::perms::owner_write, fs::perm_options::add, error);
      }
      if (error) {
        const bool full = error == std::errc::no_space_on_device || error.value() == EDQUOT;
        return absl::ErrnoToStatus(
            error.value(),
            absl::StrCat("cannot copy ", from, part, " to ", to, part, " to read it",
                         full ? "; set TMPDIR, of at most 40 characters, to a directory with more "
                                "space"
                              : ""));
      }
    }
    if (Stamp(from) == before) return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat(from,
                   " can only be read from a copy here, and changes while it is copied; try "
                   "again, or on its owner's host"));
}

}  // namespace

absl::Status Journal::OpenToRead() {
  RETURN_IF_ERROR(OpenDatabase(path_, SQLITE_OPEN_READONLY));
  // The write-ahead log's index is made beside the file where it is missing.
  const int code = sqlite3_exec(db_, "PRAGMA schema_version", nullptr, nullptr, nullptr) & 0xff;
  if (code != SQLITE_READONLY && code != SQLITE_CANTOPEN && code != SQLITE_IOERR &&
      code != SQLITE_FULL) {
    return absl::OkStatus();  // or an error that tells more when the file is read
  }
  sqlite3_close(std::exchange(db_, nullptr));
  ASSIGN_OR_RETURN(copy_, TempDir::Make("whet-journal"));
  const std::string copy = copy_->path() + "/journal.db";
  RETURN_IF_ERROR(CopyParts(path_, copy));
  return OpenDatabase(copy, SQLITE_OPEN_READWRITE);
}

absl::Status Journal::OpenToWrite() {
  RETURN_IF_ERROR(OpenDatabase(path_, SQLITE_OPEN_READWRITE));
  if (NetworkFileSystem(path_).empty()) return absl::OkStatus();
  // A run that was moved here may still have a write-ahead log. Whoever is alone with it needs no
  // shared memory to read it, which there may be none of.
  return Execute("PRAGMA locking_mode=EXCLUSIVE");
}

absl::Status Journal::SetMode() {
  // The write-ahead log needs memory that all its users share, which no two hosts do. Without it
  // readers and the writer wait for each other.
  const bool shared = !NetworkFileSystem(path_).empty();
  const char* const mode = shared ? "truncate" : "wal";
  {
    Statement set(db_, absl::StrCat("PRAGMA journal_mode=", mode).c_str());
    RETURN_IF_ERROR(set.Step().status());
    if (set.Bytes(0) != mode) {
      return absl::UnavailableError(absl::StrCat(
          path_, " can not be changed to SQLite's journal_mode ", mode, ", which it needs on ",
          shared ? NetworkFileSystem(path_) : "this file system", ": another process reads it"));
    }
  }
  // The exclusive lock goes with the next read, so that others may read.
  if (shared) RETURN_IF_ERROR(Execute("PRAGMA locking_mode=NORMAL; SELECT 1 FROM sqlite_master"));
  return Execute("PRAGMA synchronous=FULL");
}

}  // namespace whetstone
