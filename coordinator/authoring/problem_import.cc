#include "coordinator/authoring/problem_import.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/problem/expression.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/authoring/imported_function.h"
#include "coordinator/authoring/problem_new.h"
#include "coordinator/authoring/usual_sizes.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/fill.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr absl::string_view kNone = "none";
constexpr size_t kUsualChecksMin = 2;

absl::Status Refuse(const std::string& why) { return absl::InvalidArgumentError(why); }

// Asks, and puts the front matter together.
class Importer {
 public:
  Importer(const ImportRequest& request, const ImportedFunction& function, ImportHints hints)
      : request_(request),
        function_(function),
        signature_(function.signature),
        hints_(std::move(hints)) {}

  // `headers` are those that the function and its generator include.
  absl::StatusOr<ImportedProblem> Run(const std::vector<std::string>& headers,
                                      const std::optional<InputGenerator>& generator) {
    ASSIGN_OR_RETURN(const std::string id,
                     Ask("id", "Name of the problem", absl::AsciiStrToLower(signature_.name),
                         [](const std::string& answer) { return NewPromptFile(answer).status(); }));
    ASSIGN_OR_RETURN(const std::string prose,
                     Ask("prose", "What does it compute, and what may be assumed?", "", AnyText));
    RETURN_IF_ERROR(Arguments());
    if (variables_.empty()) {
      return PromptError(request_.name, 1,
                         "no parameter carries a size: nothing to measure by size");
    }
    RETURN_IF_ERROR(Sizes());
    std::string front =
        absl::StrCat("---\nid: ", id, "\n", Types(), "signature: ", function_.text, "\nargs:\n");
    for (const Parameter& parameter : signature_.parameters) {
      absl::StrAppend(&front, "  ", parameter.name, ": {", entries_[parameter.name], "}\n");
    }
    if (signature_.return_type != "void") {
      const ElementLayout element = ElementOf(signature_.return_type);
      NoteOutput(element);
      absl::StrAppend(&front, "returns: {type: ", NameOf(element), "}\n");
    }
    absl::StrAppend(&front, "sizes:\n", sizes_);
    if (usual_error_ > 0) {
      ASSIGN_OR_RETURN(const std::string rtol,
                       Ask("rtol", "Error that is accepted, relative to the largest output",
                           absl::StrFormat("%.1e", usual_error_), Tolerance));
      absl::StrAppend(&front, "compare: {rule: scaled, rtol: ", rtol, "}\n");
    }
    if (!headers.empty()) {
      absl::StrAppend(&front, "compile: {headers: [", absl::StrJoin(headers, ", "), "]}\n");
    }
    ImportedProblem made{id, absl::StrCat(front, "---\n", prose, "\n\n## reference\n\n",
                                          Fenced(WithoutStructsOf(function_, request_.code)))};
    if (!request_.expert.empty()) {
      absl::StrAppend(&made.text, "\n## expert\n\n",
                      Fenced(WithoutStructsOf(function_, request_.expert)));
    }
    if (generator) absl::StrAppend(&made.text, "\n## generator\n\n", Fenced(generator->code));
    const absl::StatusOr<v1::Problem> problem = ParsePrompt(made.text, made.id + ".md");
    if (!problem.ok()) {
      return Refuse(absl::StrCat("these answers make no problem: ", problem.status().message()));
    }
    return made;
  }

 private:
  using Check = std::function<absl::Status(const std::string&)>;

  absl::StatusOr<std::string> Ask(std::string key, std::string text, std::string suggestion,
                                  Check check) const {
    return request_.answer(
        {std::move(key), std::move(text), std::move(suggestion), std::move(check)});
  }

  static absl::Status AnyText(const std::string& answer) {
    if (!absl::StripAsciiWhitespace(answer).empty()) return absl::OkStatus();
    return Refuse("it is empty");
  }

  static absl::Status Tolerance(const std::string& answer) {
    double value = 0;
    if (absl::SimpleAtod(answer, &value) && value >= 0 && value < 1) return absl::OkStatus();
    return Refuse(absl::StrCat("'", answer, "' is no number from 0 to 1"));
  }

  static Check OneOf(const std::string& a, const std::string& b) {
    return [=](const std::string& answer) {
      if (answer == a || answer == b) return absl::OkStatus();
      return Refuse(absl::StrCat("'", answer, "' is neither '", a, "' nor '", b, "'"));
    };
  }

  // Returns the element of a type that the signature was read with.
  ElementLayout ElementOf(const std::string& cpp_type) const {
    const v1::StructType* type = FindStruct(function_.structs, cpp_type);
    return type != nullptr ? LayoutOf(*type) : LayoutOf(ElementTypeOfCpp(cpp_type));
  }

  static std::string NameOf(const ElementLayout& element) {
    return element.is_struct() ? element.struct_name : ElementTypeName(element.fields[0].type);
  }

  // Returns an error that is usual, and harmless, where 100,000 numbers of one sign are added in
  // another order.
  static double UsualError(v1::ElementType type) {
    switch (type) {
      case v1::BF16:
        return 1e-2;
      case v1::F32:
        return 1e-4;
      case v1::F64:
        return 1e-10;
      default:
        return 0;
    }
  }

  void NoteOutput(const ElementLayout& element) {
    for (const FieldLayout& field : element.fields) {
      usual_error_ = std::max(usual_error_, UsualError(field.type));
    }
  }

  std::string Types() const {
    std::string text = function_.structs.structs().empty() ? "" : "types:\n";
    for (const v1::StructType& type : function_.structs.structs()) {
      std::vector<std::string> fields;
      for (const v1::StructType::Field& field : type.fields()) {
        fields.push_back(absl::StrCat(field.name(), ": ", FieldTypeName(field)));
      }
      absl::StrAppend(&text, "  ", type.name(), ": {", absl::StrJoin(fields, ", "), "}\n");
    }
    return text;
  }

  // Returns a fill by all values of an integer type: what the author knows of his inputs he says,
  // and what he forgets is not assumed.
  static std::string WholeRange(v1::ElementType type) {
    const int bits = 8 * static_cast<int>(ElementBytes(type));
    const uint64_t most = ~uint64_t{0} >> (64 - bits + (IsSigned(type) ? 1 : 0));
    return absl::StrCat("uniform(", IsSigned(type) ? -static_cast<int64_t>(most) - 1 : 0, ", ",
                        most, ")");
  }

  std::string UsualFill(const std::string& what, v1::ElementType type) const {
    if (const auto hint = hints_.fills.find(what); hint != hints_.fills.end()) {
      const absl::StatusOr<v1::Fill> fill = ParseFill(hint->second, type);
      // Its bounds are made of sizes.
      const bool known = fill.ok() && absl::c_all_of(fill->bounds(), [this](const auto& bound) {
                           const absl::StatusOr<Expression> parsed = Expression::Parse(bound);
                           return parsed.ok() && AreSizes(parsed->names());
                         });
      if (known) return hint->second;
    }
    return IsFloating(type) ? kUsualFloats : WholeRange(type);
  }

  // Asks for what stands behind "fill: ", of a field that is an array once.
  absl::StatusOr<std::string> AskFill(const std::string& name, const ElementLayout& element) const {
    std::vector<std::string> fills;
    std::string before;
    for (const FieldLayout& field : element.fields) {
      const v1::ElementType type = field.type;
      const std::string field_name(FieldNameOf(field));
      if (!fills.empty() && field_name == before) continue;
      before = field_name;
      const std::string what = element.is_struct() ? absl::StrCat(name, ".", field_name) : name;
      ASSIGN_OR_RETURN(std::string fill,
                       Ask(what + ".fill",
                           absl::StrCat("How '", what, "' (", ElementTypeName(type), ") is filled"),
                           UsualFill(what, type), [type](const std::string& answer) {
                             return ParseFill(answer, type).status();
                           }));
      if (!element.is_struct()) return fill;
      fills.push_back(absl::StrCat(field_name, ": ", fill));
    }
    return absl::StrCat("{", absl::StrJoin(fills, ", "), "}");
  }

  // Asks for sizes first, for shapes are made of them.
  absl::Status Arguments() {
    for (const bool pointers : {false, true}) {
      for (const Parameter& parameter : signature_.parameters) {
        if (parameter.pointer != pointers) continue;
        RETURN_IF_ERROR(pointers ? Array(parameter) : Scalar(parameter));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Scalar(const Parameter& parameter) {
    const std::string& name = parameter.name;
    if (CppIntegerMax(parameter.type) != 0) {
      ASSIGN_OR_RETURN(
          const std::string kind,
          Ask(name + ".kind", absl::StrCat("Is '", name, "' a size, or a value drawn at random?"),
              hints_.sizes && hints_.sizes->count(name) == 0 ? "value" : "size",
              OneOf("size", "value")));
      if (kind == "size") {
        variables_.push_back(name);
        entries_[name] = absl::StrCat("size: ", name);
        return absl::OkStatus();
      }
    }
    const ElementLayout element = ElementOf(parameter.type);
    ASSIGN_OR_RETURN(const std::string fill, AskFill(name, element));
    entries_[name] = absl::StrCat("type: ", NameOf(element), ", fill: ", fill);
    return absl::OkStatus();
  }

  absl::Status Array(const Parameter& parameter) {
    const std::string& name = parameter.name;
    const ElementLayout element = ElementOf(parameter.type);
    std::string kind = "in";
    if (!parameter.is_const) {
      ASSIGN_OR_RETURN(kind, Ask(name + ".kind",
                                 absl::StrCat("Is '", name, "' written only, or changed in place?"),
                                 "out", OneOf("out", "inout")));
      NoteOutput(element);
    }
    const std::string usual = UsualExtents(name);
    const std::string size = variables_.empty() ? "n" : variables_[0];
    const bool why = usual.empty() && !hints_.why_no_extents.empty();
    ASSIGN_OR_RETURN(const std::string shape,
                     Ask(name + ".shape",
                         absl::StrCat("Extents of '", name, "', made of ",
                                      absl::StrJoin(variables_, ", "), ", as in ", size, ", 2*",
                                      size, why ? " (not found by running the function: " : "",
                                      why ? hints_.why_no_extents + ")" : ""),
                         usual, Extents));
    ASSIGN_OR_RETURN(const std::vector<Expression> extents, ParseExtents(shape));
    extents_.insert(extents_.end(), extents.begin(), extents.end());
    std::string entry = absl::StrCat("type: ", NameOf(element), ", shape: [", shape, "]");
    if (kind != "out") {
      ASSIGN_OR_RETURN(const std::string fill, AskFill(name, element));
      absl::StrAppend(&entry, ", fill: ", fill);
    }
    if (kind != "in") absl::StrAppend(&entry, ", ", kind, ": true");
    entries_[name] = entry;
    return absl::OkStatus();
  }

  template <typename Names>
  bool AreSizes(const Names& names) const {
    return absl::c_all_of(
        names, [this](const auto& name) { return absl::c_linear_search(variables_, name); });
  }

  // Returns what the function's loops say; else its only size; else nothing.
  std::string UsualExtents(const std::string& name) const {
    if (const auto it = hints_.extents.find(name); it != hints_.extents.end()) {
      const absl::StatusOr<Expression> extent = Expression::Parse(it->second);
      if (extent.ok() && AreSizes(extent->names())) return it->second;
    }
    return variables_.size() == 1 ? variables_[0] : "";
  }

  static absl::StatusOr<std::vector<Expression>> ParseExtents(const std::string& answer) {
    std::vector<Expression> extents;
    for (const std::string& part : SplitExpressions(answer)) {
      ASSIGN_OR_RETURN(Expression extent, Expression::Parse(part));
      extents.push_back(std::move(extent));
    }
    return extents;
  }

  static absl::Status Extents(const std::string& answer) { return ParseExtents(answer).status(); }

  absl::Status Sizes() {
    const UsualSizes usual(variables_, extents_);
    const std::string form = absl::StrCat("a list, as in ", usual.At(96, /*alike=*/true), ", ",
                                          usual.At(160, /*alike=*/true));
    std::vector<std::string> checks;
    for (const int size : {1, 2, 3, 17, 64, 96, 160}) {
      const bool further = size > 64 && checks.size() >= kUsualChecksMin;
      if (!further && usual.HaveElements(size)) checks.push_back(usual.At(size));
    }
    const struct {
      const char* list;
      std::string text;
      std::string suggestion;
    } kLists[] = {
        {"check", "Sizes at which it is checked", absl::StrJoin(checks, ", ")},
        {"timed", "Sizes at which it is timed, 0.05 to 1 ms a call of the reference", ""},
        {"hidden", "Sizes for results in doubt, none of the others, or 'none'", "none"},
    };
    for (const auto& entry : kLists) {
      const bool optional = std::string(entry.list) == "hidden";
      ASSIGN_OR_RETURN(const std::string answer,
                       Ask(entry.list, absl::StrCat(entry.text, ": ", form), entry.suggestion,
                           [this, optional](const std::string& text) {
                             if (optional && absl::string_view(text) == kNone)
                               return absl::OkStatus();
                             return Points(text).status();
                           }));
      if (optional && absl::string_view(answer) == kNone) continue;
      ASSIGN_OR_RETURN(const std::string points, Points(answer));
      absl::StrAppend(&sizes_, "  ", entry.list, ": [", points, "]\n");
    }
    return absl::OkStatus();
  }

  // Returns "r=1 c=2, r=3 c=4" or "1, 2" as YAML.
  absl::StatusOr<std::string> Points(const std::string& text) const {
    std::vector<std::string> points;
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      std::vector<std::string> values;
      std::set<std::string> given;
      for (const absl::string_view word : absl::StrSplit(part, ' ', absl::SkipWhitespace())) {
        const std::vector<std::string> pair = absl::StrSplit(word, '=');
        const std::string name =
            pair.size() == 1 && variables_.size() == 1 ? variables_[0] : pair[0];
        int64_t value = 0;
        const bool known =
            std::find(variables_.begin(), variables_.end(), name) != variables_.end();
        if (pair.size() > 2 || !known || !absl::SimpleAtoi(pair.back(), &value)) {
          return Refuse(absl::StrCat("'", word, "' does not give one of ",
                                     absl::StrJoin(variables_, ", "), " a whole number"));
        }
        given.insert(name);
        values.push_back(absl::StrCat(name, ": ", value));
      }
      if (given.size() != variables_.size() || values.size() != variables_.size()) {
        return Refuse(absl::StrCat("'", absl::StripAsciiWhitespace(part), "' must give each of ",
                                   absl::StrJoin(variables_, ", "), " once"));
      }
      points.push_back(absl::StrCat("{", absl::StrJoin(values, ", "), "}"));
    }
    return absl::StrJoin(points, ", ");
  }

  static std::string Fenced(absl::string_view code) {
    return absl::StrCat("```cpp\n", absl::StripAsciiWhitespace(code), "\n```\n");
  }

  const ImportRequest& request_;
  const ImportedFunction& function_;
  const Signature& signature_;
  const ImportHints hints_;
  std::vector<std::string> variables_;
  std::vector<Expression> extents_;  // of all arrays
  // `entries_` maps a parameter to what stands in its braces.
  std::map<std::string, std::string> entries_;
  std::string sizes_;
  double usual_error_ = 0;  // of the outputs; 0: all are integers
};

}  // namespace

absl::StatusOr<ImportedProblem> ImportProblem(const ImportRequest& request) {
  ASSIGN_OR_RETURN(const CppSource source, ReadCppSource(request.code, request.name));
  ASSIGN_OR_RETURN(const ImportedFunction function,
                   FindImportedFunction(source, request.code, request.name, request.function));
  std::optional<InputGenerator> generator;
  if (request.generator) {
    ASSIGN_OR_RETURN(generator, ReadInputGenerator(*request.generator, source.headers, function));
  }
  const auto& headers = generator ? generator->headers : source.headers;
  ImportHints hints;
  if (request.look) hints = request.look(headers, function, generator ? &*generator : nullptr);
  return Importer(request, function, std::move(hints)).Run(headers, generator);
}

}  // namespace whetstone
