// The end of a log file, and what is written to it from then on.
//
//   LogFollower log(path);
//   ASSIGN_OR_RETURN(std::string text, log.Last(100));
//   while (…) ASSIGN_OR_RETURN(text, log.More());
#ifndef WHETSTONE_COORDINATOR_REPORT_LOG_FOLLOWER_H_
#define WHETSTONE_COORDINATOR_REPORT_LOG_FOLLOWER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// Returns the names of the logs in a folder, "whet" of whet.log; sorted.
std::vector<std::string> LogsIn(const std::string& folder);

class LogFollower {
 public:
  explicit LogFollower(std::string path) : path_(std::move(path)) {}
  // Returns the last lines of the file, each with its newline, however long the file is.
  absl::StatusOr<std::string> Last(int lines);
  // Returns what was written since, at most a megabyte at once; a file that became shorter was
  // begun anew.
  absl::StatusOr<std::string> More();

 private:
  absl::StatusOr<std::string> Read(int64_t from, int64_t to) const;

  const std::string path_;
  int64_t next_ = 0;  // to be read
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_LOG_FOLLOWER_H_
