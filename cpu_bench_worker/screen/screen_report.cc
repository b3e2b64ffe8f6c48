#include "cpu_bench_worker/screen/screen_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/status_macros.h"

namespace whetstone {
namespace {

using nlohmann::json;

// This limits the characters of a hash or technique, and the techniques.
constexpr size_t kWordMax = 64;

absl::Status OutsideTheProtocol() {
  return absl::InternalError("screener: an answer outside the protocol");
}

absl::StatusOr<json> ParseObject(const std::string& text) {
  json answer = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return OutsideTheProtocol();
  return answer;
}

// Returns a text, or "" if there is none.
absl::StatusOr<std::string> Text(const json& answer, const char* key) {
  const auto it = answer.find(key);
  if (it == answer.end()) return "";
  if (!it->is_string()) return OutsideTheProtocol();
  return it->get<std::string>();
}

}  // namespace

absl::StatusOr<ScreenReport> ParseScreenReport(const std::string& text) {
  ASSIGN_OR_RETURN(const json answer, ParseObject(text));
  ScreenReport report;
  ASSIGN_OR_RETURN(const std::string error, Text(answer, "error"));
  if (!error.empty()) {
    report.status = absl::UnavailableError(error);
    return report;
  }
  const json outcome = answer.value("outcome", json(0));
  if (!outcome.is_number_integer()) return OutsideTheProtocol();
  const int64_t number = outcome.get<int64_t>();
  bool known = false;
  for (const v1::Outcome allowed :
       {v1::OUTCOME_UNSPECIFIED, v1::NO_CODE, v1::FORBIDDEN, v1::COMPILE_ERROR}) {
    if (number != allowed) continue;
    report.outcome = allowed;
    known = true;
  }
  if (!known) return OutsideTheProtocol();
  ASSIGN_OR_RETURN(report.detail, Text(answer, "detail"));
  ASSIGN_OR_RETURN(report.canonical_hash, Text(answer, "canonical_hash"));
  if (report.canonical_hash.size() > kWordMax) return OutsideTheProtocol();
  const json techniques = answer.value("techniques", json::array());
  if (!techniques.is_array() || techniques.size() > kWordMax) return OutsideTheProtocol();
  for (const json& technique : techniques) {
    if (!technique.is_string()) return OutsideTheProtocol();
    report.techniques.push_back(technique.get<std::string>());
    if (report.techniques.back().size() > kWordMax) return OutsideTheProtocol();
  }
  return report;
}

absl::StatusOr<std::string> ParsePreparedType(const std::string& text) {
  ASSIGN_OR_RETURN(const json answer, ParseObject(text));
  ASSIGN_OR_RETURN(const std::string error, Text(answer, "error"));
  if (!error.empty()) return absl::InvalidArgumentError(error);
  return Text(answer, "type");
}

}  // namespace whetstone
