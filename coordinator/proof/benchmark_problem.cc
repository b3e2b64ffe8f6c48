#include "coordinator/proof/benchmark_problem.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace whetstone {

BenchmarkProblem::BenchmarkProblem(const v1::Problem& p, Signature s)
    : problem(p), signature(std::move(s)) {
  for (const v1::SizePoint& point : problem.sizes().timed()) {
    for (const auto& [name, value] : point.values()) variables.insert(name);
  }
}

std::string BenchmarkProblem::Cpp(const std::string& type) const {
  return absl::StrCat(FindStruct(problem, type) != nullptr ? "::" : "", type);
}

std::string BenchmarkProblem::Arguments(const std::string& data) const {
  std::vector<std::string> arguments;
  for (const Parameter& p : signature.parameters) {
    arguments.push_back(absl::StrCat(data, ".", p.name, p.pointer ? ".data()" : ""));
  }
  return absl::StrJoin(arguments, ", ");
}

std::vector<BenchmarkField> BenchmarkFields(const ElementLayout& element) {
  std::vector<BenchmarkField> fields;
  for (size_t f = 0; f < element.fields.size();) {
    const std::string name(FieldNameOf(element.fields[f]));
    BenchmarkField& field = fields.emplace_back(BenchmarkField{f, name, "  ", ""});
    while (f < element.fields.size() && FieldNameOf(element.fields[f]) == name) ++f;
    if (element.fields[field.first].name == name) continue;
    field.loop = absl::StrCat("  for (std::size_t whet_at = 0; whet_at < ", f - field.first,
                              "; ++whet_at) ");
    field.at = ", whet_at";
  }
  return fields;
}

std::string BenchmarkElement(v1::ElementType type) {
  return type == v1::BF16 ? "kBf16" : "kNumber";
}

std::string BenchmarkNumber(double value) { return absl::StrFormat("%.17g", value); }

}  // namespace whetstone
