#include "coordinator/proof/benchmark_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/proof/benchmark_comparison.h"
#include "coordinator/proof/benchmark_inputs.h"
#include "coordinator/proof/benchmark_problem.h"

namespace whetstone {
namespace {

// Returns "void f(const float* a, int n)" with the function named `name`.
std::string Declare(const BenchmarkProblem& b, const std::string& name) {
  std::vector<std::string> parameters;
  for (const Parameter& p : b.signature.parameters) {
    parameters.push_back(
        absl::StrCat(p.is_const ? "const " : "", b.Cpp(p.type), p.pointer ? "* " : " ", p.name));
  }
  return absl::StrCat(b.Cpp(b.signature.return_type), " ", name, "(",
                      absl::StrJoin(parameters, ", "), ");");
}

std::string Declarations(const BenchmarkProblem& b) {
  std::string text;
  for (const char* unit : {"reference", "candidate"}) {
    absl::StrAppend(&text, "namespace ", unit, " { ", Declare(b, b.signature.name), " }\n");
  }
  if (!b.problem.oracle().empty()) {
    absl::StrAppend(&text, "namespace oracle { ", Declare(b, b.signature.name), " }\n");
  }
  if (!b.problem.generator().empty()) {
    std::vector<std::string> parameters;
    for (const Parameter& p : b.signature.parameters) {
      parameters.push_back(absl::StrCat(b.Cpp(p.type), p.pointer ? "* " : " ", p.name));
    }
    parameters.push_back("unsigned long long");
    absl::StrAppend(&text, "namespace generator { void generate(", absl::StrJoin(parameters, ", "),
                    "); }\n");
  }
  if (!b.problem.checker().empty()) {
    std::vector<std::string> parameters;
    for (int i = 0; i < b.problem.args_size(); ++i) {
      const Parameter& p = b.ParameterOf(i);
      if (!p.pointer) {
        parameters.push_back(absl::StrCat(b.Cpp(p.type), " ", p.name));
        continue;
      }
      if (b.problem.args(i).array().direction() == v1::Array::INOUT) {
        parameters.push_back(absl::StrCat("const ", b.Cpp(p.type), "* ", p.name, "_before"));
      }
      parameters.push_back(absl::StrCat("const ", b.Cpp(p.type), "* ", p.name));
    }
    if (b.problem.has_returns())
      parameters.push_back(absl::StrCat(b.Cpp(b.signature.return_type), " returned"));
    absl::StrAppend(&text, "namespace checker { bool check(", absl::StrJoin(parameters, ", "),
                    "); }\n");
  }
  return text;
}

std::string Calls(const BenchmarkProblem& b) {
  std::string text;
  std::vector<std::pair<std::string, std::string>> calls = {
      {"reference", "reference"},
      {"candidate", "candidate"},
      {"truth", b.problem.oracle().empty() ? "reference" : "oracle"}};
  for (const auto& [name, unit] : calls) {
    absl::StrAppend(&text, "void Call_", name, "(Data& d) { ",
                    b.problem.has_returns() ? "d.whet_returned = " : "", unit,
                    "::", b.signature.name, "(", b.Arguments("d"), "); }\n");
  }
  return text;
}

std::string PointList(const BenchmarkProblem& b,
                      const google::protobuf::RepeatedPtrField<v1::SizePoint>& points) {
  std::vector<std::string> rows;
  for (const v1::SizePoint& point : points) {
    std::vector<std::string> values;
    std::vector<std::string> names;
    for (const std::string& v : b.variables) {
      const auto it = point.values().find(v);
      const int64_t value = it == point.values().end() ? 0 : it->second;
      values.push_back(absl::StrCat(value));
      names.push_back(absl::StrCat(v, "=", value));
    }
    values.push_back(absl::StrCat("\"", absl::StrJoin(names, ","), "\""));
    rows.push_back(absl::StrCat("{", absl::StrJoin(values, ", "), "}"));
  }
  return absl::StrJoin(rows, ", ");
}

std::string Points(const BenchmarkProblem& b, const v1::Verdict& verdict) {
  std::vector<std::string> by_size;
  for (const v1::SizeResult& size : verdict.sizes())
    by_size.push_back(BenchmarkNumber(size.speedup()));
  by_size.resize(static_cast<size_t>(b.problem.sizes().timed_size()), "std::nan(\"\")");
  const std::string cpu =
      verdict.measured_on().cpu_model().empty() ? "unknown" : verdict.measured_on().cpu_model();
  return absl::StrCat(
      "const std::vector<Point> kCheck = {", PointList(b, b.problem.sizes().check()),
      "};\nconst std::vector<Point> kTimed = {", PointList(b, b.problem.sizes().timed()),
      "};\nconst Recorded kRecorded = {", BenchmarkNumber(verdict.speedup()), ", ",
      BenchmarkNumber(verdict.speedup_low()), ", ", BenchmarkNumber(verdict.speedup_high()), ", {",
      absl::StrJoin(by_size, ", "), "}, \"", absl::StrReplaceAll(cpu, {{"\\", ""}, {"\"", ""}}),
      "\", ", std::max(1, b.problem.compile().threads()), "};\n");
}

}  // namespace

absl::StatusOr<std::string> BenchmarkSource(const v1::Problem& problem,
                                            const v1::Verdict& verdict) {
  ASSIGN_OR_RETURN(Signature signature, ParseSignature(problem));
  const BenchmarkProblem b(problem, std::move(signature));
  return absl::StrCat(
      "// Times ", b.problem.id(), ": candidate against reference. Made by Whetstone, needs only\n",
      "// Google Benchmark. ./benchmark --help lists its options.\n",
      "#include \"benchmark_timing.h\"\n",
      b.problem.structs().empty() ? "" : "#include \"types.h\"\n", "\n", Declarations(b),
      "\nnamespace whet_proof {\n\n", InputStruct(b), "\n", InputMaker(b), "\n", Calls(b), "\n",
      InputRestorer(b), "\n", OutputComparison(b), "\n", Points(b, verdict),
      "\n}  // namespace whet_proof\n\nint main(int argc, char** argv) {\n"
      "  return whet_proof::Prove<whet_proof::Data>(whet_proof::kCheck, "
      "whet_proof::kTimed,\n"
      "                                             whet_proof::kRecorded, argc, "
      "argv);\n}\n");
}

}  // namespace whetstone
