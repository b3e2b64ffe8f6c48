#include "coordinator/terminal/console.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/source_place.h"
#include "common/unique_fd.h"
#include "coordinator/terminal/people_sink.h"

namespace whetstone {

Console::Console(bool json)
    : json_(json),
      people_(std::make_shared<PeopleSink>(json ? stderr : stdout)),
      log_(std::make_unique<spdlog::logger>("whet", people_)) {
  log_->flush_on(spdlog::level::info);
  // A full disk must not put spdlog's complaints between the lines: what needs the disk reports it.
  log_->set_error_handler([](const std::string&) {});
}

Console::~Console() {
  const std::lock_guard<std::mutex> lock(mutex_);
  people_->ClearStatus();
}

bool Console::CanAsk() const { return !json_ && isatty(STDIN_FILENO) == 1; }

absl::Status Console::LogTo(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The file is opened here first because spdlog throws where it cannot be made.
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(path);
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%d %H:%M:%S.%e %l %v",
                                                                  spdlog::pattern_time_type::utc));
  log_->sinks().push_back(std::move(sink));
  return absl::OkStatus();
}

void Console::Line(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_->info(text);
}

void Console::Notice(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_->warn(text);
}

void Console::Status(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  people_->ShowStatus(text);
}

void Console::Result(const nlohmann::ordered_json& object) {
  if (!json_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  people_->ClearStatus();
  const std::string text =
      object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
}

int Console::Fail(const absl::Status& status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    log_->error(WithExcerpt(status));
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
