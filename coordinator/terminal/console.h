// What a person sees, and what a program reads: lines for people go to stdout (to stderr with
// --json), the one JSON object at the end to stdout.
//
// On a terminal the status line is rewritten in place; elsewhere it is printed now and then, so
// that a log shows life without drowning. Thread-safe.
#ifndef WHETSTONE_COORDINATOR_TERMINAL_CONSOLE_H_
#define WHETSTONE_COORDINATOR_TERMINAL_CONSOLE_H_

#include <chrono>
#include <cstdio>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"

namespace whetstone {

inline constexpr int kExitOk = 0;
inline constexpr int kExitWrongInput = 2;
inline constexpr int kExitOurFailure = 3;
inline constexpr int kExitStopped = 130;  // as a shell reports Ctrl-C

class Console {
 public:
  explicit Console(bool json);
  ~Console();
  bool json() const { return json_; }

  // Also append every line, with the time, to this file (logs/whet.log).
  absl::Status LogTo(const std::string& path);

  void Line(const std::string& text);
  // Something the operator should look at.
  void Notice(const std::string& text);
  // What is going on now; forgotten at the next call of anything.
  void Status(const std::string& text);
  // The command's result: with --json one line on stdout, else nothing.
  void Result(const nlohmann::ordered_json& object);
  // Prints the error (and as JSON {"error": …, "code": …}); returns the exit code it stands for.
  int Fail(const absl::Status& status);

 private:
  void ClearStatus();
  void Log(const char* level, const std::string& text);

  const bool json_;
  std::FILE* const people_;
  const bool terminal_;
  std::mutex mutex_;
  bool status_shown_ = false;                            // protected by mutex_
  std::chrono::steady_clock::time_point last_output_{};  // protected by mutex_
  std::FILE* log_ = nullptr;                             // protected by mutex_
};

// 2 for what the operator can put right in the input, 3 for the rest, 130 for CANCELLED.
int ExitCodeOf(const absl::Status& status);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TERMINAL_CONSOLE_H_
