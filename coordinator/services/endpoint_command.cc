#include "coordinator/services/endpoint_command.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/services/local_service.h"

namespace whetstone {
namespace {

absl::StatusOr<std::vector<std::string>> Command(const char* what, const v1::PolicyConfig& policy,
                                                 const std::string& bin_dir) {
  ASSIGN_OR_RETURN(const std::string binary, FindServiceBinary(bin_dir, "whet-endpoint"));
  std::vector<std::string> command = {binary,    what,          "--url", policy.endpoint(),
                                      "--model", policy.model()};
  if (!policy.key_env().empty()) command.insert(command.end(), {"--key-env", policy.key_env()});
  if (!policy.key_file().empty()) command.insert(command.end(), {"--key-file", policy.key_file()});
  return command;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ServeEndpointCommand(const v1::PolicyConfig& policy,
                                                              const std::string& usage_path,
                                                              const std::string& bin_dir) {
  ASSIGN_OR_RETURN(std::vector<std::string> command, Command("serve", policy, bin_dir));
  command.insert(command.end(), {"--concurrency", absl::StrCat(policy.concurrency()), "--timeout-s",
                                 absl::StrCat(policy.timeout_s()), "--usage", usage_path});
  if (policy.requests_max() > 0) {
    command.insert(command.end(), {"--requests-max", absl::StrCat(policy.requests_max())});
  }
  if (policy.tokens_max() > 0) {
    command.insert(command.end(), {"--tokens-max", absl::StrCat(policy.tokens_max())});
  }
  return command;
}

absl::StatusOr<std::vector<std::string>> CheckEndpointCommand(const v1::PolicyConfig& policy,
                                                              const std::string& bin_dir) {
  return Command("check", policy, bin_dir);
}

}  // namespace whetstone
