// What a campaign has asked of an endpoint, and whether it may ask more. The ledger is a file, so
// that limits hold for the whole campaign, however often the program is started.
//
//   RETURN_IF_ERROR(ledger->Reserve());
//   … one request …
//   RETURN_IF_ERROR(ledger->Settle({.requests = 1, .prompt_tokens = 400, .completion_tokens =
//   90}));
//
// The file has one line for each request that reached the server, in JSON:
//
//   {"requests":1,"prompt_tokens":400,"completion_tokens":90}
//
// What was under way when the process was killed is not in it, nor are the last lines before a
// power cut.
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_USAGE_LEDGER_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_USAGE_LEDGER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

// 0 means no limit.
struct UsageLimits {
  int64_t requests_max = 0;
  int64_t tokens_max = 0;  // of prompts and completions
};

struct Usage {
  int64_t requests = 0;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

// A UsageLedger is thread-safe.
class UsageLedger {
 public:
  // Opens the file, which is made if missing (its folder must exist), or keeps count in memory only
  // if `path` is empty. A last line that was cut off is removed, or ended where nothing but its end
  // is missing. DATA_LOSS names another line that can't be read. Other errors: as the system says.
  static absl::StatusOr<std::unique_ptr<UsageLedger>> Open(const std::string& path,
                                                           const UsageLimits& limits);

  // Reserve is called before each request. RESOURCE_EXHAUSTED: a limit is reached, and which.
  // Requests under way count as made, so that they never exceed requests_max; what they will
  // cost in tokens nobody knows, so that tokens_max may be exceeded by those under way.
  absl::Status Reserve();
  // Settle is called once after each Reserve that was granted, with what the request has used: no
  // requests if it never reached the server. An error says that the line could not be written; it
  // counts all the same until this process ends.
  absl::Status Settle(const Usage& used);

  // Returns the sum of all that was settled, also before this process.
  Usage used() const;

 private:
  UsageLedger(std::string path, const UsageLimits& limits)
      : path_(std::move(path)), limits_(limits) {}
  absl::Status Load();
  absl::Status Append(const Usage& used);

  const std::string path_;
  const UsageLimits limits_;
  mutable std::mutex mutex_;
  // mutex_ protects these.
  UniqueFd file_;
  int64_t file_bytes_ = 0;  // whole lines
  Usage used_;
  int64_t under_way_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_USAGE_LEDGER_H_
