#include "coordinator/endpoint/endpoint_check.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/endpoint/api_key.h"
#include "coordinator/endpoint/chat.h"
#include "coordinator/endpoint/chat_client.h"
#include "coordinator/endpoint/chat_error.h"
#include "coordinator/endpoint/http.h"

namespace whetstone {
namespace {

constexpr size_t kNamesMax = 10;
constexpr size_t kNameCharacters = 100;
constexpr size_t kBodyCharacters = 80;

// Servers list some models under longer names than they take (models/NAME, NAME:latest) or shorter
// ones (NAME:variant), and none of their file system.
bool IsAmong(const std::vector<std::string>& names, const std::string& model) {
  return absl::StartsWith(model, "/") ||
         std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return name == model || absl::EndsWith(name, "/" + model) ||
                  absl::StartsWith(name, model + ":") || absl::StartsWith(model, name + ":");
         });
}

}  // namespace

absl::Status CheckModelList(absl::string_view body, const std::string& url,
                            const std::string& model) {
  const nlohmann::json root = ParseServerJson(body);
  if (root.is_discarded()) {
    return absl::InvalidArgumentError(
        absl::StrCat(url,
                     " answers something else than JSON; give policy.endpoint the base of the "
                     "API, which mostly ends with /v1. It says: ",
                     OneLine(body, kBodyCharacters)));
  }
  std::vector<std::string> names;
  if (root.is_object() && root.contains("data") && root["data"].is_array()) {
    for (const nlohmann::json& entry : root["data"]) {
      if (!entry.is_object()) continue;
      const auto id = entry.find("id");
      if (id != entry.end() && id->is_string()) names.push_back(id->get<std::string>());
    }
  }
  if (names.empty() || IsAmong(names, model)) return absl::OkStatus();
  const size_t shown = std::min(names.size(), kNamesMax);
  std::string list = absl::StrJoin(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ",
      [](std::string* out, const std::string& name) { *out += OneLine(name, kNameCharacters); });
  if (shown < names.size()) absl::StrAppend(&list, ", and ", names.size() - shown, " more");
  return absl::NotFoundError(absl::StrCat("no model '", model, "' at ", url,
                                          "; set policy.model to one of its list: ", list));
}

absl::Status CheckEndpoint(const std::string& url, const std::string& model, const std::string& key,
                           std::chrono::milliseconds timeout) {
  HttpRequest request{.url = {}, .body = std::nullopt, .key = key, .timeout = timeout};
  ASSIGN_OR_RETURN(request.url, ApiUrl(url, "/models", !key.empty()));
  const absl::StatusOr<HttpResponse> response = SendHttp(request, /*cancelled=*/{});
  if (!response.ok()) {
    const absl::Status& status = response.status();
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    return absl::Status(status.code(), absl::StrCat("no server answers at ", url,
                                                    "; start it, or correct policy.endpoint (",
                                                    status.message(), ")"));
  }
  // It has no list, shows it to nobody with this key, or fails to make one (transformers serve,
  // where the hub is out of reach).
  for (const int listless : {403, 404, 405, 500, 501}) {
    if (response->status == listless) return absl::OkStatus();
  }
  const std::string body = WithoutKey(response->body, key);
  if (response->status >= 200 && response->status < 300) {
    return CheckModelList(body, request.url, model);
  }
  if (response->status == 401 && key.empty()) {
    return absl::UnauthenticatedError(
        absl::StrCat(url,
                     " asks for a key; name the environment variable or the file that holds it by "
                     "policy.key_env or policy.key_file"));
  }
  return StatusOfResponse({response->status, body}, request.url, model);
}

}  // namespace whetstone
