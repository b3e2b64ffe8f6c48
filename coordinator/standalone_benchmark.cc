#include "coordinator/standalone_benchmark.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "coordinator/benchmark_support.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

// The headers a section may count on, and those it names itself.
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

// One section in a namespace of its own. Its headers come first, outside of it: their include
// guards make a second inclusion inside a no-op.
std::string Unit(const v1::Problem& problem, const std::string& name, const std::string& source) {
  return absl::StrCat("// The ", name, ", as it was measured.\n", Includes(problem, source),
                      "\nnamespace ", name, " {\n\n", source,
                      absl::EndsWith(source, "\n") ? "" : "\n", "\n}  // namespace ", name, "\n");
}

std::string Double(double value) { return absl::StrFormat("%.17g", value); }

// Everything about one problem that the benchmark's text depends on.
class Generator {
 public:
  Generator(const v1::Problem& problem, Signature signature)
      : p_(problem), s_(std::move(signature)) {
    for (const v1::Argument& arg : p_.args()) {
      const bool array = arg.kind_case() == v1::Argument::kArray;
      has_inout_ = has_inout_ || (array && arg.array().direction() == v1::Array::INOUT);
    }
    for (const v1::SizePoint& point : p_.sizes().timed()) {
      for (const auto& [name, value] : point.values()) variables_.insert(name);
    }
  }

  std::string Text() const {
    return absl::StrCat("// Times ", p_.id(),
                        ": candidate against reference. Made by Whetstone, needs only\n",
                        "// Google Benchmark. ./benchmark --help lists its options.\n",
                        "#include \"benchmark_support.h\"\n\n", Declarations(), "\n", DataStruct(),
                        "\n", Make(), "\n", Calls(), "\n", Same(), "\n", Points(), "\n", Main());
  }

 private:
  static std::string ElementOf(v1::ElementType type) {
    return type == v1::BF16 ? "kBf16" : "kNumber";
  }
  const Parameter& ParameterOf(int i) const { return s_.parameters[static_cast<size_t>(i)]; }

  // "void f(const float* a, int n)" with the function named `name`.
  std::string Declare(const std::string& name) const {
    std::vector<std::string> parameters;
    for (const Parameter& p : s_.parameters) {
      parameters.push_back(
          absl::StrCat(p.is_const ? "const " : "", p.type, p.pointer ? "* " : " ", p.name));
    }
    return absl::StrCat(s_.return_type, " ", name, "(", absl::StrJoin(parameters, ", "), ");");
  }

  std::string Declarations() const {
    std::string text;
    for (const char* unit : {"reference", "candidate"}) {
      absl::StrAppend(&text, "namespace ", unit, " { ", Declare(s_.name), " }\n");
    }
    if (!p_.oracle().empty()) {
      absl::StrAppend(&text, "namespace oracle { ", Declare(s_.name), " }\n");
    }
    if (!p_.generator().empty()) {
      std::vector<std::string> parameters;
      for (const Parameter& p : s_.parameters) {
        parameters.push_back(absl::StrCat(p.type, p.pointer ? "* " : " ", p.name));
      }
      parameters.push_back("unsigned long long seed");
      absl::StrAppend(&text, "namespace generator { void generate(",
                      absl::StrJoin(parameters, ", "), "); }\n");
    }
    if (!p_.checker().empty()) {
      std::vector<std::string> parameters;
      for (int i = 0; i < p_.args_size(); ++i) {
        const Parameter& p = ParameterOf(i);
        if (!p.pointer) {
          parameters.push_back(absl::StrCat(p.type, " ", p.name));
          continue;
        }
        if (p_.args(i).array().direction() == v1::Array::INOUT) {
          parameters.push_back(absl::StrCat("const ", p.type, "* ", p.name, "_before"));
        }
        parameters.push_back(absl::StrCat("const ", p.type, "* ", p.name));
      }
      if (p_.has_returns()) parameters.push_back(absl::StrCat(s_.return_type, " returned"));
      absl::StrAppend(&text, "namespace checker { bool check(", absl::StrJoin(parameters, ", "),
                      "); }\n");
    }
    return text;
  }

  std::string DataStruct() const {
    std::string text = "// The arguments of one call.\nstruct Data {\n";
    for (const Parameter& p : s_.parameters) {
      absl::StrAppend(&text, "  ", p.pointer ? absl::StrCat("Buffer<", p.type, ">") : p.type, " ",
                      p.name, "{};\n");
    }
    if (p_.has_returns()) absl::StrAppend(&text, "  ", s_.return_type, " returned{};\n");
    return text + "};\n";
  }

  std::string FillCall(const v1::Fill& fill, v1::ElementType type, const std::string& name) const {
    const std::string element = ElementOf(type);
    const auto call = [&](const char* kind, const std::string& rest) {
      return absl::StrCat("  Fill", kind, "<", element, ">(d.", name, rest, ");\n");
    };
    const std::string two = fill.parameters_size() == 2
                                ? absl::StrCat(", random, ", Double(fill.parameters(0)), ", ",
                                               Double(fill.parameters(1)))
                                : "";
    switch (fill.kind()) {
      case v1::Fill::UNIFORM:
        return call("Uniform", two);
      case v1::Fill::NORMAL:
        return call("Normal", two);
      case v1::Fill::IOTA:
        return call("Iota", "");
      case v1::Fill::PERMUTATION:
        return call("Permutation", ", random");
      case v1::Fill::SORTED:
        return call("Sorted", two);
      default:
        return call("Zero", "");
    }
  }

  // A scalar that is no size: drawn as an array of one.
  std::string ScalarFill(int i) const {
    const Parameter& p = ParameterOf(i);
    const v1::Scalar& scalar = p_.args(i).scalar();
    std::string text = absl::StrCat("  {\n    Buffer<", p.type, "> one(1);\n");
    std::string fill = FillCall(scalar.fill(), scalar.type(), "@");
    fill.replace(fill.find("d.@"), 3, "one");
    absl::StrAppend(&text, "  ", fill, "    d.", p.name, " = one.data()[0];\n  }\n");
    return text;
  }

  std::string Make() const {
    std::string text = "struct Point {\n";
    for (const std::string& v : variables_) absl::StrAppend(&text, "  std::int64_t ", v, ";\n");
    text +=
        "  const char* name;\n};\n\n// Inputs from `seed`, outputs poisoned.\n"
        "Data Make(const Point& point, unsigned long long seed) {\n"
        "  Random random(seed);\n  Data d;\n";
    for (const std::string& v : variables_) {
      absl::StrAppend(&text, "  [[maybe_unused]] const std::int64_t ", v, " = point.", v, ";\n");
    }
    for (int i = 0; i < p_.args_size(); ++i) {
      const v1::Argument& arg = p_.args(i);
      const Parameter& p = ParameterOf(i);
      switch (arg.kind_case()) {
        case v1::Argument::kSize:
          absl::StrAppend(&text, "  d.", p.name, " = static_cast<", p.type, ">(", arg.size(),
                          ");\n");
          break;
        case v1::Argument::kScalar:
          text += ScalarFill(i);
          break;
        case v1::Argument::kArray: {
          std::vector<std::string> extents;
          for (const std::string& extent : arg.array().shape()) {
            extents.push_back(absl::StrCat("(", extent, ")"));
          }
          absl::StrAppend(&text, "  d.", p.name, " = Buffer<", p.type, ">(",
                          absl::StrJoin(extents, " * "), ");\n");
          if (arg.array().direction() == v1::Array::OUT) {
            absl::StrAppend(&text, "  d.", p.name, ".Poison();\n");
          } else if (arg.array().has_fill()) {
            text += FillCall(arg.array().fill(), arg.array().type(), p.name);
          }
          break;
        }
        default:
          break;
      }
    }
    if (!p_.generator().empty()) {
      absl::StrAppend(&text, "  generator::generate(", Arguments("d"), ", seed);\n");
    }
    return text + "  return d;\n}\n";
  }

  std::string Arguments(const std::string& data) const {
    std::vector<std::string> arguments;
    for (const Parameter& p : s_.parameters) {
      arguments.push_back(absl::StrCat(data, ".", p.name, p.pointer ? ".data()" : ""));
    }
    return absl::StrJoin(arguments, ", ");
  }

  std::string Calls() const {
    std::string text;
    std::vector<std::string> units = {"reference", "candidate"};
    if (!p_.oracle().empty()) units.push_back("oracle");
    for (const std::string& unit : units) {
      absl::StrAppend(&text, "void Call_", unit, "(Data& d) { ",
                      p_.has_returns() ? "d.returned = " : "", unit, "::", s_.name, "(",
                      Arguments("d"), "); }\n");
    }
    text +=
        "// What a call writes, from `from` into `to`: before it is called again.\n"
        "void Restore([[maybe_unused]] Data& to, [[maybe_unused]] Data& from) {\n";
    for (int i = 0; i < p_.args_size(); ++i) {
      const v1::Argument& arg = p_.args(i);
      if (arg.kind_case() == v1::Argument::kArray && arg.array().direction() == v1::Array::INOUT) {
        absl::StrAppend(&text, "  to.", arg.name(), ".CopyFrom(from.", arg.name(), ");\n");
      }
    }
    return text + "}\n";
  }

  std::string RuleText() const {
    const v1::Compare& c = p_.compare();
    const char* rule = c.rule() == v1::Compare::SCALED        ? "kScaled"
                       : c.rule() == v1::Compare::ELEMENTWISE ? "kElementwise"
                                                              : "kExact";
    return absl::StrCat(rule, ", ", Double(c.rtol()), ", ", Double(c.atol()));
  }

  std::string Same() const {
    std::string text =
        "// Whether the candidate's call was right.\n"
        "bool Same([[maybe_unused]] Data& before, Data& got, [[maybe_unused]] Data& want) {\n";
    if (!p_.checker().empty()) {
      std::vector<std::string> arguments;
      for (int i = 0; i < p_.args_size(); ++i) {
        const Parameter& p = ParameterOf(i);
        if (!p.pointer) {
          arguments.push_back("got." + p.name);
          continue;
        }
        if (p_.args(i).array().direction() == v1::Array::INOUT) {
          arguments.push_back(absl::StrCat("before.", p.name, ".data()"));
        }
        arguments.push_back(absl::StrCat("got.", p.name, ".data()"));
      }
      if (p_.has_returns()) arguments.push_back("got.returned");
      return absl::StrCat(text, "  return checker::check(", absl::StrJoin(arguments, ", "),
                          ");\n}\n");
    }
    for (int i = 0; i < p_.args_size(); ++i) {
      const v1::Argument& arg = p_.args(i);
      if (arg.kind_case() != v1::Argument::kArray || arg.array().direction() == v1::Array::IN) {
        continue;
      }
      absl::StrAppend(&text, "  if (!Right<", ElementOf(arg.array().type()), ">(", RuleText(),
                      ", got.", arg.name(), ".data(), want.", arg.name(), ".data(), got.",
                      arg.name(), ".count())) return false;\n");
    }
    if (p_.has_returns()) {
      absl::StrAppend(&text, "  if (!Right<", ElementOf(p_.returns().type()), ">(", RuleText(),
                      ", &got.returned, &want.returned, 1)) return false;\n");
    }
    return text + "  return true;\n}\n";
  }

  std::string PointList(const google::protobuf::RepeatedPtrField<v1::SizePoint>& points) const {
    std::vector<std::string> rows;
    for (const v1::SizePoint& point : points) {
      std::vector<std::string> values;
      std::vector<std::string> names;
      for (const std::string& v : variables_) {
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

  std::string Points() const {
    return absl::StrCat("const std::vector<Point> kCheck = {", PointList(p_.sizes().check()),
                        "};\nconst std::vector<Point> kTimed = {", PointList(p_.sizes().timed()),
                        "};\n");
  }

  std::string Main() const {
    std::string text = R"(bool Check(const Point& point) {
  for (unsigned long long seed = 1; seed <= 3; ++seed) {
    Data before = Make(point, seed);
    Data got = Make(point, seed);
    Data want = Make(point, seed);
    Call_@TRUTH@(want);
    Call_candidate(got);
    if (Same(before, got, want)) continue;
    std::printf("WRONG at %s, seed %llu\n", point.name, seed);
    return false;
  }
  return true;
}

void Register(const std::string& name, const Point& point, void (*call)(Data&)) {
  benchmark::RegisterBenchmark(name.c_str(), [point, call](benchmark::State& state) {
    Data fresh = Make(point, 7);
    Data data = Make(point, 7);
@LOOP@  })->Unit(benchmark::kMicrosecond)@MANUAL@;
}

int main(int argc, char** argv) {
  for (const auto* points : {&kCheck, &kTimed}) {
    for (const Point& point : *points) {
      if (!Check(point)) return 1;
    }
  }
  std::printf("outputs are right at all %zu sizes\n", kCheck.size() + kTimed.size());
  std::vector<std::string> sizes;
  for (const Point& point : kTimed) {
    sizes.push_back(point.name);
    Register(std::string("reference/") + point.name, point, Call_reference);
    Register(std::string("candidate/") + point.name, point, Call_candidate);
  }
  return TimePairs(sizes, argc, argv);
}
)";
    // Where a call overwrites its input, every call gets the input back, off the clock.
    const char* loop = has_inout_ ? R"(    for (auto _ : state) {
      Restore(data, fresh);
      const auto start = std::chrono::steady_clock::now();
      call(data);
      benchmark::ClobberMemory();
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      state.SetIterationTime(spent.count());
    }
)"
                                  : R"(    Restore(data, fresh);
    for (auto _ : state) {
      call(data);
      benchmark::ClobberMemory();
    }
)";
    const auto replace = [&](const std::string& what, const std::string& with) {
      text.replace(text.find(what), what.size(), with);
    };
    replace("@TRUTH@", p_.oracle().empty() ? "reference" : "oracle");
    replace("@LOOP@", loop);
    replace("@MANUAL@", has_inout_ ? "->UseManualTime()" : "->UseRealTime()");
    return text;
  }

  const v1::Problem& p_;
  const Signature s_;
  std::set<std::string> variables_;
  bool has_inout_ = false;
};

std::string MakefileText(const v1::Problem& problem, const std::vector<std::string>& units) {
  std::vector<std::string> objects = {"benchmark.o"};
  for (const std::string& unit : units) objects.push_back(unit + ".o");
  const std::string std_flag = problem.compile().std().empty() ? "c++20" : problem.compile().std();
  return absl::StrCat(
      "# make && ./benchmark\n"
      "CXX ?= g++\n"
      "# As the worker compiled reference and candidate.\n"
      "KERNEL_FLAGS = -std=",
      std_flag, " ", absl::StrJoin(problem.compile().flags(), " "),
      problem.compile().threads() > 1 ? " -pthread" : "", "\n\n",
      "benchmark: ", absl::StrJoin(objects, " "),
      "\n\t$(CXX) -o $@ $^ -lbenchmark -lpthread\n"
      "benchmark.o: benchmark.cc benchmark_support.h\n\t$(CXX) -std=c++20 -O2 -c -o $@ $<\n"
      "%.o: %.cc\n\t$(CXX) $(KERNEL_FLAGS) -c -o $@ $<\n"
      "clean:\n\trm -f benchmark *.o\n.PHONY: clean\n");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> StandaloneBenchmark(const v1::Problem& problem,
                                                                       const std::string& source) {
  ASSIGN_OR_RETURN(Signature signature, ParseSignature(problem.signature()));
  std::map<std::string, std::string> files;
  std::vector<std::string> units;
  const std::pair<const char*, const std::string&> sections[] = {{"candidate", source},
                                                                 {"reference", problem.reference()},
                                                                 {"oracle", problem.oracle()},
                                                                 {"generator", problem.generator()},
                                                                 {"checker", problem.checker()}};
  for (const auto& [name, text] : sections) {
    if (text.empty()) continue;
    units.push_back(name);
    files[absl::StrCat(name, ".cc")] = Unit(problem, name, text);
  }
  files["benchmark.cc"] = Generator(problem, std::move(signature)).Text();
  files["benchmark_support.h"] = std::string(BenchmarkSupportText());
  files["Makefile"] = MakefileText(problem, units);
  files["run.sh"] =
      "#!/bin/sh\n# Builds and runs the benchmark; arguments go to it.\n"
      "cd \"$(dirname \"$0\")\" && make -s && exec ./benchmark \"$@\"\n";
  return files;
}

}  // namespace whetstone
