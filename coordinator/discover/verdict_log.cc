#include "coordinator/discover/verdict_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/crc32c.h"
#include "common/file.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// Returns the checksum of a line's first three words.
std::string Sum(const std::vector<std::string>& words) {
  return absl::StrCat(absl::Hex(Crc32c(absl::StrCat(words[0], words[1], words[2]))));
}

}  // namespace

absl::StatusOr<VerdictLog> VerdictLog::Open(const std::string& path, std::string key) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  VerdictLog log(path, Sha256Hex(key), std::move(fd));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  // What follows the last line break is half a line; the next one must not go on with it.
  const size_t whole = text.rfind('\n') + 1;  // 0 where there is none
  if (ftruncate(log.fd_.get(), static_cast<off_t>(whole)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot mend ", path));
  }
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text).substr(0, whole), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    std::string bytes;
    v1::Verdict verdict;
    if (words.size() != 4 || words[0] != log.key_ || words[3] != Sum(words) ||
        !absl::Base64Unescape(words[2], &bytes) || !verdict.ParseFromString(bytes)) {
      continue;
    }
    log.verdicts_[words[1]] = std::move(verdict);
  }
  return log;
}

const v1::Verdict* VerdictLog::Find(const std::string& source, double least_speedup) const {
  const auto it = verdicts_.find(Sha256Hex(source));
  if (it == verdicts_.end()) return nullptr;
  const v1::Verdict& known = it->second;
  return known.below_least() && !(known.speedup_high() < least_speedup) ? nullptr : &known;
}

absl::Status VerdictLog::Add(const std::string& source, const v1::Verdict& verdict) {
  std::vector<std::string> words = {key_, Sha256Hex(source),
                                    absl::Base64Escape(verdict.SerializeAsString())};
  words.push_back(Sum(words));
  const std::string line = absl::StrJoin(words, " ") + "\n";
  const off_t before = lseek(fd_.get(), 0, SEEK_END);
  ssize_t written = 0;
  do {
    written = write(fd_.get(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
  if (written != static_cast<ssize_t>(line.size())) {
    // Half a line would make the next one unreadable too.
    if (ftruncate(fd_.get(), before) != 0) return absl::ErrnoToStatus(errno, path_);
    return absl::ResourceExhaustedError(absl::StrCat("cannot write ", path_, ": the disk is full"));
  }
  verdicts_[words[1]] = verdict;
  return absl::OkStatus();
}

}  // namespace whetstone
