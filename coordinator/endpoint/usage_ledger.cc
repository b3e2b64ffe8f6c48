#include "coordinator/endpoint/usage_ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using nlohmann::json;

// More than this in one line is no count; and sums of lines stay far below 2^63.
constexpr int64_t kCountMax = int64_t{1} << 40;

std::string LineOf(const Usage& usage) {
  return absl::StrCat("{\"requests\":", usage.requests, ",\"prompt_tokens\":", usage.prompt_tokens,
                      ",\"completion_tokens\":", usage.completion_tokens, "}\n");
}

std::optional<Usage> ParseLine(absl::string_view line) {
  const json root = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return std::nullopt;
  Usage usage;
  for (const auto& [name, count] :
       {std::pair{"requests", &usage.requests}, std::pair{"prompt_tokens", &usage.prompt_tokens},
        std::pair{"completion_tokens", &usage.completion_tokens}}) {
    const auto member = root.find(name);
    if (member == root.end() || !member->is_number_unsigned()) return std::nullopt;
    if (member->get<uint64_t>() > uint64_t{kCountMax}) return std::nullopt;
    *count = member->get<int64_t>();
  }
  return usage;
}

void AddTo(Usage* sum, const Usage& more) {
  sum->requests += more.requests;
  sum->prompt_tokens += more.prompt_tokens;
  sum->completion_tokens += more.completion_tokens;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UsageLedger>> UsageLedger::Open(const std::string& path,
                                                               const UsageLimits& limits) {
  std::unique_ptr<UsageLedger> ledger(new UsageLedger(path, limits));
  if (!path.empty()) RETURN_IF_ERROR(ledger->Load());
  return ledger;
}

absl::Status UsageLedger::Load() {
  file_.reset(open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file_) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path_));
  absl::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const std::optional<Usage> usage = ParseLine(rest.substr(0, end));
    if (end == absl::string_view::npos && !usage.has_value()) break;
    if (!usage.has_value()) {
      return absl::DataLossError(
          absl::StrCat(path_, ":", number,
                       ": is no line of a usage ledger; put the file right, or move it away "
                       "to count from nothing"));
    }
    AddTo(&used_, *usage);
    if (end == absl::string_view::npos) {
      if (write(file_.get(), "\n", 1) != 1) {
        return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
      }
      file_bytes_ = static_cast<int64_t>(text.size()) + 1;
      return absl::OkStatus();
    }
    rest.remove_prefix(end + 1);
  }
  file_bytes_ = static_cast<int64_t>(text.size() - rest.size());
  if (!rest.empty() && ftruncate(file_.get(), file_bytes_) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot cut ", path_));
  }
  return absl::OkStatus();
}

absl::Status UsageLedger::Reserve() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t tokens = used_.prompt_tokens + used_.completion_tokens;
  if (limits_.requests_max > 0 && used_.requests + under_way_ >= limits_.requests_max) {
    return absl::ResourceExhaustedError(absl::StrCat("policy.requests_max: all ",
                                                     limits_.requests_max,
                                                     " requests are used; raise it to go on"));
  }
  if (limits_.tokens_max > 0 && tokens >= limits_.tokens_max) {
    return absl::ResourceExhaustedError(absl::StrCat("policy.tokens_max: all ", limits_.tokens_max,
                                                     " tokens are used; raise it to go on"));
  }
  ++under_way_;
  return absl::OkStatus();
}

absl::Status UsageLedger::Settle(const Usage& used) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --under_way_;
  if (used.requests == 0) return absl::OkStatus();
  AddTo(&used_, used);
  return file_ ? Append(used) : absl::OkStatus();
}

absl::Status UsageLedger::Append(const Usage& used) {
  const std::string line = LineOf(used);
  const ssize_t written = write(file_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    file_bytes_ += written;
    return absl::OkStatus();
  }
  const absl::Status failed =
      absl::ErrnoToStatus(written < 0 ? errno : ENOSPC, absl::StrCat("cannot write ", path_));
  // No line follows half a line.
  if (written > 0 && ftruncate(file_.get(), file_bytes_) != 0) file_.reset();
  return failed;
}

Usage UsageLedger::used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

}  // namespace whetstone
