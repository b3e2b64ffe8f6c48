// The console is what a person sees, and what a program reads: lines for people go to stdout (to
// stderr with --json), the one JSON object at the end to stdout. Every line is a record of one
// spdlog logger, which prints it for the person (people_sink.h) and writes it, with the time, to
// the run's log.
//
// On a terminal the status line is rewritten in place; elsewhere it is printed now and then, so
// that a log shows life without drowning. It is thread-safe.
#ifndef WHETSTONE_COORDINATOR_TERMINAL_CONSOLE_H_
#define WHETSTONE_COORDINATOR_TERMINAL_CONSOLE_H_

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"

namespace spdlog {
class logger;
}

namespace whetstone {

class PeopleSink;

inline constexpr int kExitOk = 0;
inline constexpr int kExitWrongInput = 2;
inline constexpr int kExitOurFailure = 3;
inline constexpr int kExitStopped = 130;  // as a shell reports Ctrl-C

class Console {
 public:
  explicit Console(bool json);
  ~Console();
  bool json() const { return json_; }
  // Says whether there is somebody to ask: a terminal, and lines are for people.
  bool CanAsk() const;

  // From here on every line is appended to this file as well, with the time (logs/whet.log).
  absl::Status LogTo(const std::string& path);

  void Line(const std::string& text);
  // Prints what the operator should look at.
  void Notice(const std::string& text);
  // Shows what is going on now; the next call of anything else takes it back.
  void Status(const std::string& text);
  // Prints the command's result: with --json one line on stdout, else nothing.
  void Result(const nlohmann::ordered_json& object);
  // Prints the error, with the line of a file that it is about where it has one (source_place.h),
  // and as JSON {"error": …, "code": …}; returns the exit code it stands for.
  int Fail(const absl::Status& status);

 private:
  const bool json_;
  std::mutex mutex_;  // protects both, and keeps their output in order
  const std::shared_ptr<PeopleSink> people_;
  const std::unique_ptr<spdlog::logger> log_;
};

// The exit code is 2 for what the operator can put right in the input, 130 for CANCELLED, 3 for the
// rest.
int ExitCodeOf(const absl::Status& status);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TERMINAL_CONSOLE_H_
