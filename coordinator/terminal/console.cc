#include "coordinator/terminal/console.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace whetstone {
namespace {
// How often the status is printed where it can't be rewritten.
constexpr auto kStatusEvery = std::chrono::seconds(15);
// On a terminal: an answer within this time needs no status.
constexpr auto kStatusAfter = std::chrono::seconds(2);
}  // namespace

Console::Console(bool json)
    : json_(json),
      people_(json ? stderr : stdout),
      terminal_(isatty(fileno(people_)) == 1),
      last_output_(std::chrono::steady_clock::now()) {}

Console::~Console() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  if (log_ != nullptr) std::fclose(log_);
}

absl::Status Console::LogTo(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_ = std::fopen(path.c_str(), "ae");
  if (log_ == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

void Console::ClearStatus() {
  if (!status_shown_) return;
  std::fputs("\r\033[K", people_);
  status_shown_ = false;
}

void Console::Log(const char* level, const std::string& text) {
  if (log_ == nullptr) return;
  const std::string now = absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::Now(), absl::UTCTimeZone());
  std::fprintf(log_, "%s %s %s\n", now.c_str(), level, text.c_str());
  std::fflush(log_);
}

void Console::Line(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  std::fprintf(people_, "%s\n", text.c_str());
  std::fflush(people_);
  last_output_ = std::chrono::steady_clock::now();
  Log("info", text);
}

void Console::Notice(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  std::fprintf(people_, "! %s\n", text.c_str());
  std::fflush(people_);
  last_output_ = std::chrono::steady_clock::now();
  Log("warning", text);
}

void Console::Status(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    if (!status_shown_ && now - last_output_ < kStatusAfter) return;
    // A line longer than the screen could not be taken back.
    std::fprintf(people_, "\r\033[K%.110s", text.c_str());
    std::fflush(people_);
    status_shown_ = true;
  } else if (now - last_output_ >= kStatusEvery) {
    std::fprintf(people_, "… %s\n", text.c_str());
    std::fflush(people_);
    last_output_ = now;
  }
}

void Console::Result(const nlohmann::ordered_json& object) {
  if (!json_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  const std::string text =
      object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
}

int Console::Fail(const absl::Status& status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ClearStatus();
    const std::string message(status.message());
    std::fprintf(stderr, "whet: %s\n", message.c_str());
    Log("error", message);
  }
  Result({{"error", std::string(status.message())},
          {"code", absl::StatusCodeToString(status.code())}});
  return ExitCodeOf(status);
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return kExitWrongInput;
    case absl::StatusCode::kCancelled:
      return kExitStopped;
    default:
      return kExitOurFailure;
  }
}

}  // namespace whetstone
