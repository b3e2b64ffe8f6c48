#include "coordinator/report/lines_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {

std::string JsonLine(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

LinesFile::LinesFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {}

LinesFile::~LinesFile() { std::remove(part_.c_str()); }

absl::Status LinesFile::Open() {
  errno = 0;
  out_.open(part_, std::ios::binary);
  return Result();
}

absl::Status LinesFile::AddLine(absl::string_view line) {
  errno = 0;
  out_.write(line.data(), static_cast<std::streamsize>(line.size())).put('\n');
  return Result();
}

absl::Status LinesFile::Finish() {
  errno = 0;
  out_.close();
  RETURN_IF_ERROR(Result());
  std::error_code error;
  std::filesystem::rename(part_, path_, error);
  return error ? absl::ErrnoToStatus(error.value(), path_) : absl::OkStatus();
}

absl::Status LinesFile::Result() const {
  const int error = errno == 0 ? EIO : errno;
  if (out_) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", part_));
}

}  // namespace whetstone
