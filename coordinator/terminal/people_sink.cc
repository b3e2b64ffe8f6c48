#include "coordinator/terminal/people_sink.h"

#include <unistd.h>

namespace whetstone {
namespace {

// The status is printed this often where it can't be rewritten.
constexpr auto kStatusEvery = std::chrono::seconds(15);
// An answer within this time needs no status on a terminal.
constexpr auto kStatusAfter = std::chrono::seconds(2);

const char* Mark(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::err:
      return "whet: ";
    case spdlog::level::warn:
      return "! ";
    default:
      return "";
  }
}

}  // namespace

PeopleSink::PeopleSink(std::FILE* out)
    : out_(out),
      terminal_(isatty(fileno(out)) == 1),
      last_output_(std::chrono::steady_clock::now()) {}

void PeopleSink::ClearStatus() {
  if (!status_shown_) return;
  std::fputs("\r\033[K", out_);
  // An error's line goes to stderr at once and must come after this.
  std::fflush(out_);
  status_shown_ = false;
}

void PeopleSink::ShowStatus(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    if (!status_shown_ && now - last_output_ < kStatusAfter) return;
    // A line longer than the screen could not be taken back.
    std::fprintf(out_, "\r\033[K%.110s", text.c_str());
    status_shown_ = true;
  } else if (now - last_output_ >= kStatusEvery) {
    std::fprintf(out_, "… %s\n", text.c_str());
    last_output_ = now;
  }
  flush_();
}

void PeopleSink::sink_it_(const spdlog::details::log_msg& message) {
  ClearStatus();
  const std::string line =
      Mark(message.level) + std::string(message.payload.data(), message.payload.size()) + "\n";
  std::fputs(line.c_str(), message.level == spdlog::level::err ? stderr : out_);
  last_output_ = std::chrono::steady_clock::now();
}

void PeopleSink::flush_() { std::fflush(out_); }

}  // namespace whetstone
