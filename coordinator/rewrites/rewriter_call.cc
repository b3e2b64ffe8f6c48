#include "coordinator/rewrites/rewriter_call.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"

namespace whetstone {
namespace {

constexpr std::chrono::minutes kAnswerDeadline{1};

}  // namespace

absl::StatusOr<std::string> CallRewriter(const std::string& request, const std::string& folder,
                                         const std::string& id,
                                         const std::function<bool()>& cancelled) {
  const std::string request_path = folder + "/request.json";
  const std::string answer_path = folder + "/answer.json";
  const std::string log_path = folder + "/rewriter.log";
  RETURN_IF_ERROR(WriteFileAtomically(request_path, request));
  RETURN_IF_ERROR(WriteFileAtomically(log_path, ""));
  std::error_code none_yet;
  std::filesystem::remove(answer_path, none_yet);
  ChildOptions options;
  options.argv = {ProgramDirectory() + "/whet-rewriter", request_path, answer_path};
  options.log_path = log_path;
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  const std::optional<std::string> ended = child->Wait(kAnswerDeadline, cancelled);
  if (!ended) {
    if (cancelled && cancelled()) return absl::CancelledError("stopped");
    return absl::DeadlineExceededError("whet-rewriter did not answer within a minute");
  }
  if (*ended == "exit code 2") {
    return absl::InvalidArgumentError(absl::StrCat(id, ": ", LastLines(log_path, 3)));
  }
  if (*ended != "exit code 0") {
    return absl::InternalError(
        absl::StrCat("whet-rewriter ended with ", *ended, ": ", LastLines(log_path, 3)));
  }
  return ReadFile(answer_path);
}

absl::Status OutsideTheProtocol() {
  return absl::InternalError("whet-rewriter: an answer outside the protocol");
}

}  // namespace whetstone
