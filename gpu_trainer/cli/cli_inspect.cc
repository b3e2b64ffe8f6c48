#include <google/protobuf/util/json_util.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/rpc/model_inspection.h"

namespace whetstone {
namespace {

namespace json_util = google::protobuf::util;

struct InspectOptions {
  std::string model, request;
};

absl::StatusOr<v1::InspectModelRequest> RequestOf(const InspectOptions& options) {
  v1::InspectModelRequest request;
  if (options.request.empty()) {
    request.set_model(options.model);
    return request;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.request));
  const auto parsed = json_util::JsonStringToMessage(text, &request);
  if (parsed.ok()) return request;
  return absl::InvalidArgumentError(absl::StrCat(options.request, ": ", parsed.ToString()));
}

absl::Status Inspect(const InspectOptions& options) {
  ASSIGN_OR_RETURN(const v1::InspectModelRequest request, RequestOf(options));
  const v1::InspectModelResponse response = InspectModel(request);
  json_util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  std::string json;
  if (!json_util::MessageToJsonString(response, &json, print).ok()) {
    return absl::InternalError("the answer has no JSON form");
  }
  std::printf("%s\n", json.c_str());
  for (const v1::ModelFacts* facts : {&response.model(), &response.kl_reference()}) {
    if (!facts->error().empty()) return absl::InvalidArgumentError(facts->error());
  }
  return absl::OkStatus();
}

}  // namespace

void AddInspectCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Say whether a campaign can begin with a model, without loading it");
  CLI::Option_group* const one = command->add_option_group("what to look at");
  one->add_option("--model", options->model, "a Hugging Face directory");
  one->add_option("--request", options->request, "a file: an InspectModelRequest as JSON");
  one->require_option(1);
  command->callback([options, exit_code] { *exit_code = ExitCode(Inspect(*options)); });
}

}  // namespace whetstone
