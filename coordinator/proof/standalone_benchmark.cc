#include "coordinator/proof/standalone_benchmark.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/problem/compile_flags.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/proof/benchmark_source.h"
#include "coordinator/proof/benchmark_support.h"

namespace whetstone {
namespace {

// Returns the headers a section may count on, and those it names itself.
std::string Includes(const v1::Problem& problem, const std::string& source) {
  std::set<std::string> headers = {"cstddef", "cstdint"};
  headers.insert(problem.compile().headers().begin(), problem.compile().headers().end());
  const std::vector<std::string> lines = absl::StrSplit(source, '\n');
  for (const std::string& line : lines) {
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&rest, "#")) continue;
    rest = absl::StripLeadingAsciiWhitespace(rest);
    if (!absl::ConsumePrefix(&rest, "include")) continue;
    rest = absl::StripLeadingAsciiWhitespace(rest);
    const size_t close = rest.find('>');
    if (rest.empty() || rest[0] != '<' || close == absl::string_view::npos) continue;
    headers.insert(std::string(rest.substr(1, close - 1)));
  }
  std::string text;
  for (const std::string& header : headers) absl::StrAppend(&text, "#include <", header, ">\n");
  return text;
}

// Whether a line declares a header's function once more, as the rule "calls in vectors" does.
bool DeclaresAgain(absl::string_view line) {
  return absl::StartsWith(line, "__attribute__((const") && absl::EndsWith(line, ") noexcept;");
}

// Returns one section in a namespace of its own. Its headers come first, outside of it, and what is
// said of their functions: their include guards make a second inclusion inside a no-op.
std::string Unit(const v1::Problem& problem, const std::string& name, const std::string& source) {
  std::string again, own;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(source, "\n"), '\n')) {
    absl::StrAppend(DeclaresAgain(line) ? &again : &own, line, "\n");
  }
  return absl::StrCat("// The ", name, ", as it was measured.\n", Includes(problem, source),
                      problem.structs().empty() ? "" : "#include \"types.h\"\n", again,
                      "\nnamespace ", name, " {\n\n", own, "\n}  // namespace ", name, "\n");
}

std::string CMakeText(const v1::Problem& problem, const std::vector<std::string>& units) {
  std::string sources;
  for (const std::string& unit : units) absl::StrAppend(&sources, " ", unit, ".cc");
  return absl::StrCat(
      "# cmake -B build && cmake --build build && build/benchmark\n"
      "cmake_minimum_required(VERSION 3.16)\n"
      "# The problem's compiler; -DCMAKE_CXX_COMPILER=… takes another.\n"
      "find_program(CMAKE_CXX_COMPILER NAMES ",
      absl::StrJoin(CompilerPrograms(CompilerName(problem.compile())), " "),
      ")\n"
      "project(",
      problem.id(),
      " CXX)\n"
      "find_package(benchmark REQUIRED)\n"
      "find_package(Threads REQUIRED)\n\n"
      "add_executable(benchmark benchmark.cc",
      sources,
      ")\n"
      "set_property(SOURCE benchmark.cc PROPERTY COMPILE_OPTIONS -std=c++20 -O2)\n"
      "# As the worker compiled reference and candidate.\n"
      "set_property(SOURCE",
      sources, "\n             PROPERTY COMPILE_OPTIONS ",
      absl::StrJoin(CompileFlags(problem.compile()), " "),
      ")\n"
      "target_link_libraries(benchmark PRIVATE benchmark::benchmark Threads::Threads)\n");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> StandaloneBenchmark(const v1::Problem& problem,
                                                                       const std::string& source,
                                                                       const v1::Verdict& verdict) {
  std::map<std::string, std::string> files;
  std::vector<std::string> units;
  const std::string candidate = WithoutStructs(source, problem);
  const std::pair<const char*, const std::string&> sections[] = {{"candidate", candidate},
                                                                 {"reference", problem.reference()},
                                                                 {"oracle", problem.oracle()},
                                                                 {"generator", problem.generator()},
                                                                 {"checker", problem.checker()}};
  for (const auto& [name, text] : sections) {
    if (text.empty()) continue;
    units.push_back(name);
    files[absl::StrCat(name, ".cc")] = Unit(problem, name, text);
  }
  if (!problem.structs().empty()) {
    files["types.h"] =
        absl::StrCat("// What the functions work on.\n#pragma once\n\n", StructText(problem));
  }
  ASSIGN_OR_RETURN(files["benchmark.cc"], BenchmarkSource(problem, verdict));
  files["benchmark_core.h"] = std::string(BenchmarkCoreText());
  files["benchmark_support.h"] = std::string(BenchmarkSupportText());
  files["benchmark_timing.h"] = std::string(BenchmarkTimingText());
  files["CMakeLists.txt"] = CMakeText(problem, units);
  files["run.sh"] =
      "#!/bin/sh\n# Builds and runs the benchmark; arguments go to it.\n"
      "cd \"$(dirname \"$0\")\" && cmake -B build >/dev/null && cmake --build build >/dev/null ||\n"
      "  exit 2  # It does not build.\n"
      "exec build/benchmark \"$@\"\n";
  return files;
}

}  // namespace whetstone
