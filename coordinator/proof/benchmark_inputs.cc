#include "coordinator/proof/benchmark_inputs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/problem/struct_type.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

// Returns the call that fills the buffer of the name `buffer`.
std::string FillCall(const v1::Fill& fill, v1::ElementType type, const std::string& buffer) {
  const std::string element = BenchmarkElement(type);
  const auto call = [&](const char* kind, const std::string& rest) {
    return absl::StrCat("Fill", kind, "<", element, ">(", buffer, rest, ");\n");
  };
  std::string two = ", whet_random";
  for (const double number : fill.parameters()) {
    absl::StrAppend(&two, ", ", BenchmarkNumber(number));
  }
  for (const std::string& bound : fill.bounds()) {
    absl::StrAppend(&two, ", static_cast<double>(", bound, ")");
  }
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
    case v1::Fill::ONE_OF:
      return call("OneOf", absl::StrCat(", whet_random, {",
                                        absl::StrJoin(fill.parameters(), ", ",
                                                      [](std::string* text, double number) {
                                                        absl::StrAppend(text,
                                                                        BenchmarkNumber(number));
                                                      }),
                                        "}"));
    default:
      return call("Zero", "");
  }
}

// Fills `count` elements of a struct at `data`, one field after the other.
template <typename Filled>
std::string StructFill(const BenchmarkProblem& b, const Filled& filled, const std::string& data,
                       const std::string& count) {
  std::string text;
  const auto numbers = FilledFields(b.problem, filled);
  const ElementLayout element = LayoutIn(b.problem, filled).value_or(ElementLayout());
  for (const BenchmarkField& field : BenchmarkFields(element)) {
    const auto& [number, fill] = numbers[field.first];
    if (fill == nullptr) continue;
    const std::string type = CppType(number.type);
    absl::StrAppend(
        &text, field.loop, "{\n    std::vector<", type, "> whet_values(static_cast<std::size_t>(",
        count, "));\n    Buffer<", type, "> whet_field(", count, ", whet_values.data());\n    ",
        FillCall(*fill, number.type, "whet_field"), "    SetField(", data,
        ", &::", filled.struct_type(), "::", field.name, ", whet_field", field.at, ");\n  }\n");
  }
  return text;
}

// Returns the text that draws a scalar that is no size, as an array of one.
std::string ScalarFill(const BenchmarkProblem& b, int i) {
  const Parameter& p = b.ParameterOf(i);
  const v1::Scalar& scalar = b.problem.args(i).scalar();
  if (!scalar.struct_type().empty()) {
    return StructFill(b, scalar, absl::StrCat("&whet_data.", p.name), "1");
  }
  return absl::StrCat("  {\n    Buffer<", p.type, "> whet_one(1, &whet_data.", p.name, ");\n    ",
                      FillCall(scalar.fill(), scalar.type(), "whet_one"), "  }\n");
}

std::string ArrayFill(const BenchmarkProblem& b, int i) {
  const std::string buffer = absl::StrCat("whet_data.", b.ParameterOf(i).name);
  const v1::Array& array = b.problem.args(i).array();
  if (array.direction() == v1::Array::OUT) return absl::StrCat("  ", buffer, ".Poison();\n");
  if (!array.struct_type().empty())
    return StructFill(b, array, buffer + ".data()", buffer + ".count()");
  return array.has_fill() ? "  " + FillCall(array.fill(), array.type(), buffer) : "";
}

}  // namespace

std::string InputStruct(const BenchmarkProblem& b) {
  std::string text = "// The arguments of one call.\nstruct Data {\n";
  for (const Parameter& p : b.signature.parameters) {
    absl::StrAppend(&text, "  ",
                    p.pointer ? absl::StrCat("Buffer<", b.Cpp(p.type), ">") : b.Cpp(p.type), " ",
                    p.name, "{};\n");
  }
  if (b.problem.has_returns())
    absl::StrAppend(&text, "  ", b.Cpp(b.signature.return_type), " whet_returned{};\n");
  return text + "};\n";
}

std::string InputMaker(const BenchmarkProblem& b) {
  std::string point = "struct Point {\n";
  std::string sizes;  // the variables of a point
  for (const std::string& v : b.variables) {
    absl::StrAppend(&point, "  std::int64_t ", v, ";\n");
    absl::StrAppend(&sizes, "  [[maybe_unused]] const std::int64_t ", v, " = whet_point.", v,
                    ";\n");
  }
  std::string bytes, lay, fill;
  int arrays = 0;
  for (int i = 0; i < b.problem.args_size(); ++i) {
    const v1::Argument& arg = b.problem.args(i);
    const Parameter& p = b.ParameterOf(i);
    switch (arg.kind_case()) {
      case v1::Argument::kSize:
        absl::StrAppend(&lay, "  whet_data.", p.name, " = static_cast<", p.type, ">(", arg.size(),
                        ");\n");
        break;
      case v1::Argument::kScalar:
        fill += ScalarFill(b, i);
        break;
      case v1::Argument::kArray: {
        std::vector<std::string> extents;
        for (const std::string& extent : arg.array().shape()) {
          extents.push_back(absl::StrCat("(", extent, ")"));
        }
        const std::string count = absl::StrJoin(extents, " * ");
        ++arrays;
        absl::StrAppend(&bytes, " +\n         std::int64_t{sizeof(", b.Cpp(p.type), ")} * ", count);
        absl::StrAppend(&lay, "  whet_data.", p.name, " = Buffer<", b.Cpp(p.type), ">(", count,
                        ", whet_arena);\n");
        fill += ArrayFill(b, i);
        break;
      }
      default:
        break;
    }
  }
  if (!b.problem.generator().empty()) {
    absl::StrAppend(&fill, "  generator::generate(", b.Arguments("whet_data"), ", whet_seed);\n");
  }
  return absl::StrCat(
      point, "  const char* name;\n};\n\n// The arrays of one call, and their bytes.\n",
      "std::int64_t Arrays(const Point&) { return ", arrays,
      "; }\nstd::int64_t Bytes([[maybe_unused]] const Point& whet_point) {\n", sizes,
      "  return std::int64_t{0}", bytes, ";\n}\n\n",
      "// Sizes, and the places of the arrays.\n"
      "Data Lay([[maybe_unused]] const Point& whet_point, [[maybe_unused]] Arena* whet_arena) {\n",
      sizes, "  Data whet_data;\n", lay, "  return whet_data;\n}\n\n",
      "// Inputs from `seed`, outputs poisoned.\n"
      "Data Make(const Point& whet_point, unsigned long long whet_seed, Arena* whet_arena) {\n"
      "  Random whet_random(whet_seed);\n  Data whet_data = Lay(whet_point, whet_arena);\n",
      sizes, fill, "  return whet_data;\n}\n");
}

std::string InputRestorer(const BenchmarkProblem& b) {
  std::string restore;
  for (const v1::Argument& arg : b.problem.args()) {
    if (arg.kind_case() == v1::Argument::kSize) continue;
    if (arg.kind_case() == v1::Argument::kScalar) {
      absl::StrAppend(&restore, "  to.", arg.name(), " = from.", arg.name(), ";\n");
      continue;
    }
    if (arg.array().direction() == v1::Array::OUT) {
      absl::StrAppend(&restore, "  to.", arg.name(), ".Poison();\n");
    } else {
      absl::StrAppend(&restore, "  to.", arg.name(), ".CopyFrom(from.", arg.name(), ");\n");
    }
  }
  return absl::StrCat(
      "// Inputs from `from`, outputs poisoned.\n"
      "void Restore([[maybe_unused]] Data& to, [[maybe_unused]] const Data& from) {\n",
      restore, "}\n");
}

}  // namespace whetstone
