// This spdlog sink prints a log for the person who watches: the text alone, with a mark by its
// level and without a time, and below it the status line.
#ifndef WHETSTONE_COORDINATOR_TERMINAL_PEOPLE_SINK_H_
#define WHETSTONE_COORDINATOR_TERMINAL_PEOPLE_SINK_H_

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace whetstone {

// An info is "text", a warning "! text", an error "whet: text", which goes to stderr. The sink is
// not thread-safe: Console locks.
class PeopleSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // `out` is stdout or stderr.
  explicit PeopleSink(std::FILE* out);

  // Shows what is going on: on a terminal it is rewritten in place, elsewhere printed now and then.
  void ShowStatus(const std::string& text);
  void ClearStatus();

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;

  std::FILE* const out_;
  const bool terminal_;
  bool status_shown_ = false;
  std::chrono::steady_clock::time_point last_output_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TERMINAL_PEOPLE_SINK_H_
