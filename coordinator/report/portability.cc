#include "coordinator/report/portability.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/report/html.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/verdict_json.h"

namespace whetstone {
namespace {

// Returns "3.21x (3.10 to 3.32)", the outcome of a program that is not right, or "not measured".
std::string ResultText(const PortableResult& result) {
  if (!result.error.empty()) return "not measured";
  const v1::Verdict& v = result.verdict;
  if (v.outcome() != v1::CORRECT) return OutcomeNameOf(v.outcome()).name;
  return absl::StrFormat("%.2fx (%.2f to %.2f)", v.speedup(), v.speedup_low(), v.speedup_high());
}

// Returns the text at `key`, where there is one.
std::string TextAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double NumberAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// Returns the objects of the list at `key`; an empty list where it is none.
std::vector<nlohmann::json> ObjectsAt(const nlohmann::json& object, const char* key) {
  std::vector<nlohmann::json> objects;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return objects;
  std::copy_if(found->begin(), found->end(), std::back_inserter(objects),
               [](const nlohmann::json& element) { return element.is_object(); });
  return objects;
}

PortableResult ResultOf(const nlohmann::json& json) {
  PortableResult result{.cpu_model = TextAt(json, "cpu_model"),
                        .worker = TextAt(json, "worker"),
                        .error = TextAt(json, "error")};
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  v1::Outcome_Parse(TextAt(json, "outcome"), &outcome);
  result.verdict.set_outcome(outcome);
  result.verdict.set_detail(TextAt(json, "detail"));
  result.verdict.set_speedup(NumberAt(json, "speedup"));
  result.verdict.set_speedup_low(NumberAt(json, "speedup_low"));
  result.verdict.set_speedup_high(NumberAt(json, "speedup_high"));
  return result;
}

nlohmann::ordered_json ResultJson(const PortableResult& result) {
  nlohmann::ordered_json json = {{"cpu_model", result.cpu_model}, {"wins", result.wins()}};
  if (result.error.empty()) {
    json.update(VerdictJson(result.verdict));
    json.erase("reward");  // nobody pays one
  } else {
    json["error"] = result.error;
  }
  json["worker"] = result.worker;
  return json;
}

}  // namespace

bool PortableResult::wins() const {
  return error.empty() && verdict.outcome() == v1::CORRECT && verdict.speedup_low() > 1;
}

bool PortableProgram::portable() const {
  return !results.empty() &&
         std::all_of(results.begin(), results.end(),
                     [](const PortableResult& result) { return result.wins(); });
}

bool PortableProgram::refuted() const {
  return std::any_of(results.begin(), results.end(), [](const PortableResult& result) {
    return result.error.empty() && !result.wins();
  });
}

bool Portability::portable() const {
  return std::all_of(programs.begin(), programs.end(),
                     [](const PortableProgram& program) { return program.portable(); });
}

nlohmann::ordered_json PortabilityJson(const Portability& portability) {
  nlohmann::ordered_json json = {{"portable", portability.portable()},
                                 {"cpu_models", portability.cpu_models},
                                 {"unreached", nlohmann::ordered_json::array()},
                                 {"programs", nlohmann::ordered_json::array()}};
  for (const UnreachedWorker& unreached : portability.unreached) {
    json["unreached"].push_back({{"worker", unreached.worker}, {"why", unreached.why}});
  }
  for (const PortableProgram& program : portability.programs) {
    nlohmann::ordered_json on = nlohmann::ordered_json::array();
    for (const PortableResult& result : program.results) on.push_back(ResultJson(result));
    json["programs"].push_back({{"problem", program.problem},
                                {"portable", program.portable()},
                                {"step", program.step},
                                {"source", program.source},
                                {"on", std::move(on)}});
  }
  return json;
}

absl::StatusOr<Portability> ParsePortability(absl::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("programs") || !json["programs"].is_array()) {
    return absl::InvalidArgumentError("is not what whet portable writes");
  }
  Portability portability;
  for (const nlohmann::json& element : ObjectsAt(json, "programs")) {
    const auto step = element.find("step");
    PortableProgram program{
        .problem = TextAt(element, "problem"),
        .step = step != element.end() && step->is_number_integer() ? step->get<int64_t>() : 0,
        .source = TextAt(element, "source"),
        .results = {}};
    for (const nlohmann::json& on : ObjectsAt(element, "on")) {
      program.results.push_back(ResultOf(on));
    }
    for (const PortableResult& result : program.results) {
      std::vector<std::string>& models = portability.cpu_models;
      if (std::find(models.begin(), models.end(), result.cpu_model) == models.end()) {
        models.push_back(result.cpu_model);
      }
    }
    portability.programs.push_back(std::move(program));
  }
  for (const nlohmann::json& unreached : ObjectsAt(json, "unreached")) {
    portability.unreached.push_back({TextAt(unreached, "worker"), TextAt(unreached, "why")});
  }
  return portability;
}

std::vector<std::string> PortabilityHeader() {
  return {"problem", "CPU model", "host", "speedup", "faster"};
}

std::vector<std::vector<std::string>> PortabilityRows(const Portability& portability) {
  std::vector<std::vector<std::string>> rows;
  for (const PortableProgram& program : portability.programs) {
    for (const PortableResult& result : program.results) {
      rows.push_back({program.problem, result.cpu_model, result.worker, ResultText(result),
                      result.wins()          ? "yes"
                      : result.error.empty() ? "no"
                                             : "not known"});
    }
  }
  return rows;
}

std::string PortableText(const PortableProgram& program) {
  const size_t models = program.results.size();
  if (program.portable()) {
    return absl::StrCat(program.problem, " is portable: faster than its reference on ",
                        models == 1 ? "the CPU model that was asked"
                                    : absl::StrCat("each of ", models, " CPU models"));
  }
  std::string text = absl::StrCat(
      program.problem, program.refuted()
                           ? " is NOT portable:"
                           : " could not be measured everywhere, so this is not known of it:");
  for (const PortableResult& result : program.results) {
    if (result.wins()) continue;
    const std::string& why = result.error.empty() ? result.verdict.detail() : result.error;
    absl::StrAppend(&text, "\n  ", result.cpu_model, " (", result.worker, "): ", ResultText(result),
                    why.empty() ? "" : ": ", why);
  }
  return text;
}

std::string PortabilityPart(const Portability& portability,
                            const std::map<std::string, IncumbentEntry>& incumbents) {
  std::string html =
      "<h2>Portable</h2><p>The best programs, measured again on one host of each CPU model that "
      "was asked.";
  for (const PortableProgram& program : portability.programs) {
    const auto incumbent = incumbents.find(program.problem);
    if (incumbent != incumbents.end() && incumbent->second.source == program.source) continue;
    absl::StrAppend(&html, " Of ", EscapeHtml(program.problem),
                    " it is an earlier program, of step ", program.step, ".");
  }
  for (const UnreachedWorker& unreached : portability.unreached) {
    absl::StrAppend(&html, " Not reached: ", EscapeHtml(unreached.worker), ".");
  }
  return absl::StrCat(
      html, "</p>",
      HtmlTable("Programs on other machines", PortabilityHeader(), PortabilityRows(portability)));
}

}  // namespace whetstone
