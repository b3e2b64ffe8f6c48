// A VerdictLog keeps what programs of one problem measured, so that a search that was killed goes
// on where it was: it asks for the same programs again, and is answered from here.
//
//   ASSIGN_OR_RETURN(VerdictLog log, VerdictLog::Open(folder + "/rules.log", key));
//   if (const v1::Verdict* known = log.Find(source, least_speedup)) …
//   RETURN_IF_ERROR(log.Add(source, verdict));
//
// A line is the SHA-256 of the key and of the source, the verdict in base64, and the CRC-32C of all
// that. A line that a crash cut off, or that is damaged, is as if it were not there. It is not
// thread-safe.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_VERDICT_LOG_H_
#define WHETSTONE_COORDINATOR_DISCOVER_VERDICT_LOG_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

class VerdictLog {
 public:
  // Makes the file where it is missing. `key` names all that verdicts hang on beside the source,
  // such as problem and host: those of another key are not found.
  static absl::StatusOr<VerdictLog> Open(const std::string& path, std::string key);

  // Returns null where there is none, or where it was not timed to its end and may be
  // `least_speedup` times as fast. The pointer holds as long as the log.
  const v1::Verdict* Find(const std::string& source, double least_speedup = 0) const;
  // Takes the place of an earlier one of that source.
  absl::Status Add(const std::string& source, const v1::Verdict& verdict);
  // Returns how many programs of this key there are.
  size_t size() const { return verdicts_.size(); }

 private:
  VerdictLog(std::string path, std::string key, UniqueFd fd)
      : path_(std::move(path)), key_(std::move(key)), fd_(std::move(fd)) {}

  std::string path_;
  std::string key_;  // its SHA-256
  UniqueFd fd_;
  std::map<std::string, v1::Verdict> verdicts_;  // by the source's SHA-256
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_VERDICT_LOG_H_
