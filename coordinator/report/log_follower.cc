#include "coordinator/report/log_follower.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlock = 1 << 20;

absl::StatusOr<int64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return absl::ErrnoToStatus(error.value(), path);
  return static_cast<int64_t>(size);
}

}  // namespace

std::vector<std::string> LogsIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;  // A folder that is not there has none.
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".log") names.push_back(it->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

absl::StatusOr<std::string> LogFollower::Last(int lines) {
  ASSIGN_OR_RETURN(next_, SizeOf(path_));
  // The newline at the end ends the last line.
  int64_t begin = next_, newlines = 0;
  while (begin > 0 && newlines <= lines) {
    const int64_t end = begin;
    begin = std::max<int64_t>(0, end - kBlock);
    ASSIGN_OR_RETURN(const std::string block, Read(begin, end));
    newlines += std::ranges::count(block, '\n');
  }
  ASSIGN_OR_RETURN(const std::string text, Read(begin, next_));
  size_t from = text.size();
  for (int left = lines; from > 0 && left > 0; --left) {
    const size_t newline = from < 2 ? std::string::npos : text.rfind('\n', from - 2);
    from = newline == std::string::npos ? 0 : newline + 1;
  }
  return text.substr(from);
}

absl::StatusOr<std::string> LogFollower::More() {
  ASSIGN_OR_RETURN(const int64_t size, SizeOf(path_));
  if (size < next_) next_ = 0;
  ASSIGN_OR_RETURN(std::string text, Read(next_, std::min(size, next_ + kBlock)));
  next_ += static_cast<int64_t>(text.size());
  return text;
}

absl::StatusOr<std::string> LogFollower::Read(int64_t from, int64_t to) const {
  std::string text(static_cast<size_t>(to - from), '\0');
  std::ifstream file(path_, std::ios::binary);
  if (!file.seekg(from)) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
  file.read(text.data(), to - from);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace whetstone
