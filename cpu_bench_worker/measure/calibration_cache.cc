#include "cpu_bench_worker/measure/calibration_cache.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace whetstone {
namespace {

constexpr char kCalibrationSuffix[] = ".calibration";
constexpr off_t kCalibrationBytesMax = 1 << 20;

// Returns whether nobody but this user (and root) can have written it.
bool OwnAlone(int fd, mode_t type) {
  struct stat info;
  return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && info.st_size <= kCalibrationBytesMax;
}

UniqueFd OpenOwnFolder(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return fd && OwnAlone(fd.get(), S_IFDIR) ? std::move(fd) : UniqueFd();
}

std::string ReadToEnd(int fd) {
  std::string content;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return content;
    content.append(buffer, static_cast<size_t>(n));
  }
}

// Returns what a file holds: the checksum of its key and its bytes, a line feed, the bytes.
std::string CalibrationText(const std::string& key, const std::string& bytes) {
  return absl::StrCat(Sha256Hex(absl::StrCat(key, "\n", bytes)), "\n", bytes);
}

}  // namespace

std::string CalibrationCache::KeyOf(const std::string& problem_hash, v1::WorkerInfo info) const {
  info.clear_noise_band();
  info.clear_slot_noise_bands();
  info.clear_slot_noise_measurements();
  info.clear_unix_time();
  std::string host;
  {
    google::protobuf::io::StringOutputStream stream(&host);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    info.SerializeToCodedStream(&coded);
  }  // the coded stream writes its tail when it ends
  std::string key = absl::StrCat(problem_hash, "\n", host, "\n");
  for (const std::string& program : programs_) {
    struct stat file = {};
    const bool there = stat(program.c_str(), &file) == 0;
    absl::StrAppend(&key, program, " ", there ? file.st_size : -1, " ", file.st_mtim.tv_sec, " ",
                    file.st_mtim.tv_nsec, "\n");
  }
  return key;
}

std::string CalibrationCache::DefaultFolder() {
  constexpr char kWithin[] = "/whetstone/calibrations";
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return absl::StrCat(cache, kWithin);
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? absl::StrCat(home, "/.cache", kWithin) : "";
}

std::string CalibrationCache::NameOf(const std::string& key) {
  return Sha256Hex(key) + kCalibrationSuffix;
}

std::optional<v1::Calibration> CalibrationCache::Find(const std::string& problem_hash,
                                                      const v1::WorkerInfo& info,
                                                      double unix_now) const {
  if (folder_.empty()) return std::nullopt;
  const UniqueFd folder = OpenOwnFolder(folder_);
  if (!folder) return std::nullopt;
  const std::string key = KeyOf(problem_hash, info);
  // A pipe in the file's place must not block.
  const UniqueFd file(
      openat(folder.get(), NameOf(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file || !OwnAlone(file.get(), S_IFREG)) return std::nullopt;
  const std::string content = ReadToEnd(file.get());
  const size_t line = content.find('\n');
  if (line == std::string::npos) return std::nullopt;
  const std::string bytes = content.substr(line + 1);
  v1::Calibration calibration;
  if (content != CalibrationText(key, bytes) || !calibration.ParseFromString(bytes)) {
    return std::nullopt;
  }
  // One from the future tells of a clock that was set: its age is not known.
  const double seconds = unix_now - calibration.unix_time();
  if (!(seconds >= 0 && seconds <= kSecondsMax)) return std::nullopt;
  return calibration;
}

absl::Status CalibrationCache::Keep(const std::string& problem_hash, const v1::WorkerInfo& info,
                                    const v1::Calibration& calibration) const {
  if (folder_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(MakeDirectories(std::filesystem::path(folder_).parent_path()));
  if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", folder_));
  if (!OpenOwnFolder(folder_))
    return absl::PermissionDeniedError(
        absl::StrCat(folder_, " is not a folder that only this user may write to; remove it"));
  const std::string key = KeyOf(problem_hash, info);
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder_, "/", NameOf(key)),
                                      CalibrationText(key, calibration.SerializeAsString())));
  RemoveOldest();
  return absl::OkStatus();
}

void CalibrationCache::RemoveOldest() const {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (!absl::EndsWith(entry.path().string(), kCalibrationSuffix)) continue;
    files.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + kFilesMax < files.size(); ++i) fs::remove(files[i].second, ignored);
}

}  // namespace whetstone
