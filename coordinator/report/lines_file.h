// A LinesFile is a text file that is written line by line, and appears at its place when it is
// whole.
//
//   LinesFile file(path);
//   RETURN_IF_ERROR(file.Open());
//   RETURN_IF_ERROR(file.AddObject({{"step", 12}}));
//   RETURN_IF_ERROR(file.Finish());
#ifndef WHETSTONE_COORDINATOR_REPORT_LINES_FILE_H_
#define WHETSTONE_COORDINATOR_REPORT_LINES_FILE_H_

#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Returns the object in one line. Text from outside that is no UTF-8 has replacement characters.
std::string JsonLine(const nlohmann::ordered_json& object);

// Until Finish it is PATH.part, which is gone with the object; what was at PATH before stays until
// then. Errors name the file and the system's reason. It is not thread-safe.
class LinesFile {
 public:
  explicit LinesFile(std::string path);
  ~LinesFile();
  LinesFile(const LinesFile&) = delete;
  LinesFile& operator=(const LinesFile&) = delete;

  absl::Status Open();
  // `line` is without its newline.
  absl::Status AddLine(absl::string_view line);
  absl::Status AddObject(const nlohmann::ordered_json& object) { return AddLine(JsonLine(object)); }
  // Nothing is added after it.
  absl::Status Finish();

 private:
  absl::Status Result() const;

  const std::string path_;
  const std::string part_;
  std::ofstream out_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_LINES_FILE_H_
