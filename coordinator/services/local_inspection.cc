#include "coordinator/services/local_inspection.h"

#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"
#include "coordinator/services/endpoint_command.h"
#include "coordinator/services/local_service.h"

namespace whetstone {
namespace {

// It takes some tenths of a second, unless the model lies on a file system that hangs.
constexpr std::chrono::seconds kInspectDeadline{60};
constexpr int kInspectLogLines = 5;

// The answer is a line of its own; the log may hold other lines before and behind it.
std::optional<v1::InspectModelResponse> AnswerIn(const std::string& log) {
  const absl::StatusOr<std::string> text = ReadFile(log);
  if (!text.ok()) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    v1::InspectModelResponse response;
    if (absl::StartsWith(line, "{") &&
        google::protobuf::util::JsonStringToMessage(std::string(line), &response).ok()) {
      return response;
    }
  }
  return std::nullopt;
}

// Returns how the program ended that looks at `model`.
absl::StatusOr<std::string> RunToEnd(const ChildOptions& options, const std::string& model,
                                     const std::function<bool()>& cancelled) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  const std::optional<std::string> how = child->Wait(kInspectDeadline, cancelled);
  if (how.has_value()) return *how;
  if (cancelled && cancelled()) return absl::CancelledError("stopped while looking at the model");
  return absl::DeadlineExceededError(absl::StrCat(options.argv[0], " ", options.argv[1],
                                                  " has not looked at ", model, " within ",
                                                  kInspectDeadline.count(), " s"));
}

absl::StatusOr<v1::InspectModelResponse> InspectEndpoint(const v1::PolicyConfig& policy,
                                                         const std::string& bin_dir,
                                                         const std::function<bool()>& cancelled) {
  ASSIGN_OR_RETURN(const TempDir dir, TempDir::Make("whet"));
  ChildOptions options;
  ASSIGN_OR_RETURN(options.argv, CheckEndpointCommand(policy, bin_dir));
  options.log_path = dir.path() + "/log";
  ASSIGN_OR_RETURN(const std::string how, RunToEnd(options, policy.endpoint(), cancelled));
  v1::InspectModelResponse response;
  if (how == "exit code 0") {
    response.mutable_model()->set_family(absl::StrCat(policy.model(), " at ", policy.endpoint()));
  } else {
    const std::string said = LastLines(options.log_path, kInspectLogLines);
    if (said.empty()) {
      return absl::UnavailableError(absl::StrCat(options.argv[0], " said nothing (", how, ")"));
    }
    response.mutable_model()->set_error(said);
  }
  return response;
}

}  // namespace

absl::StatusOr<v1::InspectModelResponse> InspectModelLocally(
    const v1::PolicyConfig& policy, const v1::InspectModelRequest& request,
    const std::string& bin_dir, const std::function<bool()>& cancelled) {
  if (!policy.endpoint().empty()) return InspectEndpoint(policy, bin_dir, cancelled);
  ASSIGN_OR_RETURN(const std::string binary, FindServiceBinary(bin_dir, "whet-trainer"));
  ASSIGN_OR_RETURN(const TempDir dir, TempDir::Make("whet"));
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(request, &json).ok()) {
    return absl::InternalError("the question about the model has no JSON form");
  }
  const std::string question = dir.path() + "/request.json";
  RETURN_IF_ERROR(WriteFileAtomically(question, json));
  ChildOptions options;
  options.argv = {binary, "inspect", "--request", question};
  options.log_path = dir.path() + "/log";
  ASSIGN_OR_RETURN(const std::string how, RunToEnd(options, request.model(), cancelled));
  if (std::optional<v1::InspectModelResponse> answer = AnswerIn(options.log_path)) return *answer;
  return absl::UnavailableError(absl::StrCat(binary, " inspect said nothing of ", request.model(),
                                             " (", how, "). Its last lines:\n",
                                             LastLines(options.log_path, kInspectLogLines)));
}

}  // namespace whetstone
