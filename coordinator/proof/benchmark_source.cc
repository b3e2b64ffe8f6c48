#include "coordinator/proof/benchmark_source.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

std::string Double(double value) { return absl::StrFormat("%.17g", value); }

// Everything about one problem that the benchmark's text depends on.
class Generator {
 public:
  Generator(const v1::Problem& problem, const v1::Verdict& verdict, Signature signature)
      : p_(problem), v_(verdict), s_(std::move(signature)) {
    for (const v1::SizePoint& point : p_.sizes().timed()) {
      for (const auto& [name, value] : point.values()) variables_.insert(name);
    }
  }

  std::string Text() const {
    return absl::StrCat(
        "// Times ", p_.id(), ": candidate against reference. Made by Whetstone, needs only\n",
        "// Google Benchmark. ./benchmark --help lists its options.\n",
        "#include \"benchmark_timing.h\"\n", p_.structs().empty() ? "" : "#include \"types.h\"\n",
        "\n", Declarations(), "\nnamespace whet_proof {\n\n", DataStruct(), "\n", Make(), "\n",
        Calls(), "\n", Restore(), "\n", Same(), "\n", Points(),
        "\n}  // namespace whet_proof\n\nint main(int argc, char** argv) {\n"
        "  return whet_proof::Prove<whet_proof::Data>(whet_proof::kCheck, "
        "whet_proof::kTimed,\n"
        "                                             whet_proof::kRecorded, argc, "
        "argv);\n}\n");
  }

 private:
  static std::string ElementOf(v1::ElementType type) {
    return type == v1::BF16 ? "kBf16" : "kNumber";
  }
  const Parameter& ParameterOf(int i) const { return s_.parameters[static_cast<size_t>(i)]; }
  // The problem's structs are global, and may be named like anything of whet_proof's.
  std::string Cpp(const std::string& type) const {
    return absl::StrCat(FindStruct(p_, type) != nullptr ? "::" : "", type);
  }

  // "void f(const float* a, int n)" with the function named `name`.
  std::string Declare(const std::string& name) const {
    std::vector<std::string> parameters;
    for (const Parameter& p : s_.parameters) {
      parameters.push_back(
          absl::StrCat(p.is_const ? "const " : "", Cpp(p.type), p.pointer ? "* " : " ", p.name));
    }
    return absl::StrCat(Cpp(s_.return_type), " ", name, "(", absl::StrJoin(parameters, ", "), ");");
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
        parameters.push_back(absl::StrCat(Cpp(p.type), p.pointer ? "* " : " ", p.name));
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
          parameters.push_back(absl::StrCat(Cpp(p.type), " ", p.name));
          continue;
        }
        if (p_.args(i).array().direction() == v1::Array::INOUT) {
          parameters.push_back(absl::StrCat("const ", Cpp(p.type), "* ", p.name, "_before"));
        }
        parameters.push_back(absl::StrCat("const ", Cpp(p.type), "* ", p.name));
      }
      if (p_.has_returns()) parameters.push_back(absl::StrCat(Cpp(s_.return_type), " returned"));
      absl::StrAppend(&text, "namespace checker { bool check(", absl::StrJoin(parameters, ", "),
                      "); }\n");
    }
    return text;
  }

  std::string DataStruct() const {
    std::string text = "// The arguments of one call.\nstruct Data {\n";
    for (const Parameter& p : s_.parameters) {
      absl::StrAppend(&text, "  ",
                      p.pointer ? absl::StrCat("Buffer<", Cpp(p.type), ">") : Cpp(p.type), " ",
                      p.name, "{};\n");
    }
    if (p_.has_returns()) absl::StrAppend(&text, "  ", Cpp(s_.return_type), " whet_returned{};\n");
    return text + "};\n";
  }

  // `buffer` is the name of one.
  std::string FillCall(const v1::Fill& fill, v1::ElementType type,
                       const std::string& buffer) const {
    const std::string element = ElementOf(type);
    const auto call = [&](const char* kind, const std::string& rest) {
      return absl::StrCat("Fill", kind, "<", element, ">(", buffer, rest, ");\n");
    };
    const std::string two = fill.parameters_size() == 2
                                ? absl::StrCat(", whet_random, ", Double(fill.parameters(0)), ", ",
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
        return call("Permutation", ", whet_random");
      case v1::Fill::SORTED:
        return call("Sorted", two);
      default:
        return call("Zero", "");
    }
  }

  // Fills `count` elements of a struct at `data`, one field after the other.
  template <typename Filled>
  std::string StructFill(const Filled& filled, const std::string& data,
                         const std::string& count) const {
    std::string text;
    for (const auto& [field, fill] : FilledFields(p_, filled)) {
      if (fill == nullptr) continue;
      absl::StrAppend(&text, "  {\n    Buffer<", CppType(field.type), "> whet_field(", count,
                      ");\n    ", FillCall(*fill, field.type, "whet_field"), "    SetField(", data,
                      ", &::", filled.struct_type(), "::", field.name, ", whet_field);\n  }\n");
    }
    return text;
  }

  // A scalar that is no size: drawn as an array of one.
  std::string ScalarFill(int i) const {
    const Parameter& p = ParameterOf(i);
    const v1::Scalar& scalar = p_.args(i).scalar();
    if (!scalar.struct_type().empty()) {
      return StructFill(scalar, absl::StrCat("&whet_data.", p.name), "1");
    }
    return absl::StrCat("  {\n    Buffer<", p.type, "> whet_one(1);\n    ",
                        FillCall(scalar.fill(), scalar.type(), "whet_one"), "    whet_data.",
                        p.name, " = whet_one.data()[0];\n  }\n");
  }

  std::string ArrayFill(int i) const {
    const std::string buffer = absl::StrCat("whet_data.", ParameterOf(i).name);
    const v1::Array& array = p_.args(i).array();
    if (array.direction() == v1::Array::OUT) return absl::StrCat("  ", buffer, ".Poison();\n");
    if (!array.struct_type().empty())
      return StructFill(array, buffer + ".data()", buffer + ".count()");
    return array.has_fill() ? "  " + FillCall(array.fill(), array.type(), buffer) : "";
  }

  std::string Make() const {
    std::string text = "struct Point {\n";
    for (const std::string& v : variables_) absl::StrAppend(&text, "  std::int64_t ", v, ";\n");
    text +=
        "  const char* name;\n};\n\n// Inputs from `seed`, outputs poisoned.\n"
        "Data Make(const Point& whet_point, unsigned long long whet_seed) {\n"
        "  Random whet_random(whet_seed);\n  Data whet_data;\n";
    for (const std::string& v : variables_) {
      absl::StrAppend(&text, "  [[maybe_unused]] const std::int64_t ", v, " = whet_point.", v,
                      ";\n");
    }
    for (int i = 0; i < p_.args_size(); ++i) {
      const v1::Argument& arg = p_.args(i);
      const Parameter& p = ParameterOf(i);
      switch (arg.kind_case()) {
        case v1::Argument::kSize:
          absl::StrAppend(&text, "  whet_data.", p.name, " = static_cast<", p.type, ">(",
                          arg.size(), ");\n");
          break;
        case v1::Argument::kScalar:
          text += ScalarFill(i);
          break;
        case v1::Argument::kArray: {
          std::vector<std::string> extents;
          for (const std::string& extent : arg.array().shape()) {
            extents.push_back(absl::StrCat("(", extent, ")"));
          }
          absl::StrAppend(&text, "  whet_data.", p.name, " = Buffer<", Cpp(p.type), ">(",
                          absl::StrJoin(extents, " * "), ");\n", ArrayFill(i));
          break;
        }
        default:
          break;
      }
    }
    if (!p_.generator().empty()) {
      absl::StrAppend(&text, "  generator::generate(", Arguments("whet_data"), ", whet_seed);\n");
    }
    return text + "  return whet_data;\n}\n";
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
    std::vector<std::pair<std::string, std::string>> calls = {
        {"reference", "reference"},
        {"candidate", "candidate"},
        {"truth", p_.oracle().empty() ? "reference" : "oracle"}};
    for (const auto& [name, unit] : calls) {
      absl::StrAppend(&text, "void Call_", name, "(Data& d) { ",
                      p_.has_returns() ? "d.whet_returned = " : "", unit, "::", s_.name, "(",
                      Arguments("d"), "); }\n");
    }
    return text;
  }

  std::string Restore() const {
    std::string restore;
    std::string bytes;
    for (const v1::Argument& arg : p_.args()) {
      if (arg.kind_case() == v1::Argument::kSize) continue;
      if (arg.kind_case() == v1::Argument::kScalar) {
        absl::StrAppend(&restore, "  to.", arg.name(), " = from.", arg.name(), ";\n");
        continue;
      }
      absl::StrAppend(&bytes, " + d.", arg.name(), ".bytes()");
      if (arg.array().direction() == v1::Array::OUT) {
        absl::StrAppend(&restore, "  to.", arg.name(), ".Poison();\n");
      } else {
        absl::StrAppend(&restore, "  to.", arg.name(), ".CopyFrom(from.", arg.name(), ");\n");
      }
    }
    return absl::StrCat(
        "// Inputs from `from`, outputs poisoned.\n"
        "void Restore([[maybe_unused]] Data& to, [[maybe_unused]] const Data& from) {\n",
        restore, "}\n\n// Of all arrays of one call.\n",
        "std::int64_t Bytes([[maybe_unused]] const Data& d) {\n",
        "  return static_cast<std::int64_t>(std::size_t{0}", bytes, ");\n}\n");
  }

  std::string RuleText() const {
    const v1::Compare& c = p_.compare();
    const char* rule = c.rule() == v1::Compare::SCALED        ? "kScaled"
                       : c.rule() == v1::Compare::ELEMENTWISE ? "kElementwise"
                                                              : "kExact";
    return absl::StrCat(rule, ", ", Double(c.rtol()), ", ", Double(c.atol()));
  }

  // "  if (!Right<…>(…)) return false;\n" for each field of `count` elements at `got` and `want`.
  template <typename Typed>
  std::string RightCalls(const Typed& typed, const std::string& got, const std::string& want,
                         const std::string& count) const {
    std::string text;
    const ElementLayout element = LayoutIn(p_, typed).value_or(ElementLayout());
    for (const FieldLayout& field : element.fields) {
      const auto values = [&](const std::string& data) {
        if (!element.is_struct()) return data;
        return absl::StrCat("Field(", data, ", ", count, ", &::", element.struct_name,
                            "::", field.name, ").data()");
      };
      absl::StrAppend(&text, "  if (!Right<", ElementOf(field.type), ">(", RuleText(), ", ",
                      values(got), ", ", values(want), ", ", count, ")) return false;\n");
    }
    return text;
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
      if (p_.has_returns()) arguments.push_back("got.whet_returned");
      return absl::StrCat(text, "  return checker::check(", absl::StrJoin(arguments, ", "),
                          ");\n}\n");
    }
    for (int i = 0; i < p_.args_size(); ++i) {
      const v1::Argument& arg = p_.args(i);
      if (arg.kind_case() != v1::Argument::kArray || arg.array().direction() == v1::Array::IN) {
        continue;
      }
      const std::string name = arg.name();
      text += RightCalls(arg.array(), absl::StrCat("got.", name, ".data()"),
                         absl::StrCat("want.", name, ".data()"),
                         absl::StrCat("got.", name, ".count()"));
    }
    if (p_.has_returns()) {
      text += RightCalls(p_.returns(), "&got.whet_returned", "&want.whet_returned", "1");
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
    std::vector<std::string> by_size;
    for (const v1::SizeResult& size : v_.sizes()) by_size.push_back(Double(size.speedup()));
    by_size.resize(static_cast<size_t>(p_.sizes().timed_size()), "std::nan(\"\")");
    const std::string cpu =
        v_.measured_on().cpu_model().empty() ? "unknown" : v_.measured_on().cpu_model();
    return absl::StrCat("const std::vector<Point> kCheck = {", PointList(p_.sizes().check()),
                        "};\nconst std::vector<Point> kTimed = {", PointList(p_.sizes().timed()),
                        "};\nconst Recorded kRecorded = {", Double(v_.speedup()), ", ",
                        Double(v_.speedup_low()), ", ", Double(v_.speedup_high()), ", {",
                        absl::StrJoin(by_size, ", "), "}, \"",
                        absl::StrReplaceAll(cpu, {{"\\", ""}, {"\"", ""}}), "\", ",
                        std::max(1, p_.compile().threads()), "};\n");
  }

  const v1::Problem& p_;
  const v1::Verdict& v_;
  const Signature s_;
  std::set<std::string> variables_;
};

}  // namespace

absl::StatusOr<std::string> BenchmarkSource(const v1::Problem& problem,
                                            const v1::Verdict& verdict) {
  ASSIGN_OR_RETURN(Signature signature, ParseSignature(problem));
  return Generator(problem, verdict, std::move(signature)).Text();
}

}  // namespace whetstone
