#include "coordinator/prompt/types.h"

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/prompt/fill.h"
#include "coordinator/prompt/prompt_sections.h"

namespace whetstone {
namespace {

constexpr size_t kStructsMax = 16;
constexpr size_t kFieldsMax = 32;

// Returns whether the C++ around a problem already uses `name`.
bool IsTaken(const std::string& name) {
  const std::vector<std::string>& sections = SectionNames();
  return std::find(sections.begin(), sections.end(), name) != sections.end() ||
         ElementTypeOfCpp(name) != v1::ELEMENT_TYPE_UNSPECIFIED ||
         ParseElementType(name) != v1::ELEMENT_TYPE_UNSPECIFIED || name == "std" ||
         name == "candidate" || name == "benchmark" || absl::StartsWith(name, "whet_") ||
         absl::StartsWith(name, "_");
}

bool IsStruct(const FrontMatter& front, const std::string& name) {
  const auto& types = front.keys().types();
  return std::any_of(types.begin(), types.end(),
                     [&](const v1::FrontMatter::Struct& type) { return type.key() == name; });
}

// Takes the extents off `text`, "f64[3][3]". Returns the first that is none; nothing if all are.
std::string TakeFieldExtents(std::string* text, v1::StructType::Field* field) {
  const size_t open = std::min(text->find('['), text->size());
  absl::string_view rest = absl::string_view(*text).substr(open);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(']'), rest.size());
    uint32_t extent = 0;
    const bool fits = rest[0] == '[' && end < rest.size() && end > 1 &&
                      absl::c_all_of(rest.substr(1, end - 1), absl::ascii_isdigit) &&
                      absl::SimpleAtoi(rest.substr(1, end - 1), &extent) && extent > 0;
    if (!fits) return std::string(rest.substr(0, end + 1));
    field->add_extents(extent);
    rest.remove_prefix(end + 1);
  }
  text->resize(open);
  return "";
}

absl::Status ReadFields(const FrontMatter& front, const v1::FrontMatter::Struct& given,
                        v1::StructType* type) {
  const std::string& name = given.key();
  const std::string path = absl::StrCat("types.", name);
  if (given.value().empty() || static_cast<size_t>(given.value_size()) > kFieldsMax) {
    return front.Error(
        path, absl::StrCat("struct ", name, " has ", given.value_size(), " fields: give it 1 to ",
                           kFieldsMax, ", as in {x: f32, y: ", "f32}"));
  }
  for (const v1::FrontMatter::Field& field : given.value()) {
    const std::string key = absl::StrCat(path, ".", field.key());
    std::string text = field.value();
    if (!IsIdentifier(field.key()) ||
        ElementTypeOfCpp(field.key()) != v1::ELEMENT_TYPE_UNSPECIFIED) {
      return front.Error(key, absl::StrCat("'", field.key(), "' cannot name a field of ", name));
    }
    v1::StructType::Field* read = type->add_fields();
    read->set_name(field.key());
    const std::string wrong = TakeFieldExtents(&text, read);
    if (!wrong.empty()) {
      return front.Error(key, absl::StrCat("field '", field.key(), "' of ", name, ": '", wrong,
                                           "' is no extent: write a whole number from 1 on, as in "
                                           "f64[9] or f64[3][3]"));
    }
    if (IsStruct(front, text)) {
      return front.Error(key, absl::StrCat("field '", field.key(), "' of ", name, " is a ", text,
                                           ": a struct in a struct is not supported, so list the "
                                           "fields of ",
                                           text, " in ", name));
    }
    const bool is_char = text == "char";
    const v1::ElementType element = is_char ? v1::I8 : ParseElementType(text);
    if (element == v1::ELEMENT_TYPE_UNSPECIFIED) {
      const v1::ElementType meant = ElementTypeOfCpp(text);
      return front.Error(key, absl::StrCat("field '", field.key(), "' of ", name,
                                           ": unknown type '", text, "'; did you mean '",
                                           meant == v1::ELEMENT_TYPE_UNSPECIFIED
                                               ? Nearest(text, ElementTypeNames())
                                               : ElementTypeName(meant),
                                           "'? Valid: ", absl::StrJoin(ElementTypeNames(), ", ")));
    }
    read->set_type(element);
    if (is_char) read->set_is_char(true);
  }
  if (LayoutOf(*type).bytes <= kStructBytesMax) return absl::OkStatus();
  return front.Error(path, absl::StrCat("struct ", name, " has more than ", kStructBytesMax,
                                        " bytes: pass its larger arrays as arguments"));
}

}  // namespace

absl::Status ReadTypes(const FrontMatter& front, v1::Problem* problem) {
  const auto& types = front.keys().types();
  if (static_cast<size_t>(types.size()) > kStructsMax) {
    return front.Error(
        "types", absl::StrCat("'types' has ", types.size(), " structs, more than ", kStructsMax));
  }
  for (const v1::FrontMatter::Struct& given : types) {
    const std::string& name = given.key();
    if (!IsIdentifier(name) || IsTaken(name)) {
      return front.Error(
          absl::StrCat("types.", name),
          absl::StrCat("'", name, "' cannot name a struct: take another name, as in Point"));
    }
    v1::StructType* type = problem->add_structs();
    type->set_name(name);
    RETURN_IF_ERROR(ReadFields(front, given, type));
  }
  return absl::OkStatus();
}

absl::Status CheckTypesUsed(const FrontMatter& front, const v1::Problem& problem,
                            const Signature& signature) {
  for (const v1::StructType& type : problem.structs()) {
    if (signature.Names(type.name())) continue;
    return front.Error(absl::StrCat("types.", type.name()),
                       absl::StrCat("the signature does not use struct ", type.name(),
                                    ": leave it out (what only the code uses, the code defines)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementLayout> ReadType(const FrontMatter& front, const std::string& key,
                                       const std::string& name, const v1::Problem& problem,
                                       const std::string& what, const std::string& cpp_type) {
  RETURN_IF_ERROR(front.Require(key));
  std::vector<std::string> known = ElementTypeNames();
  for (const v1::StructType& type : problem.structs()) known.push_back(type.name());
  RETURN_IF_ERROR(front.RequireOneOf(key, name, known));
  const v1::ElementType type = ParseElementType(name);
  const bool is_number = type != v1::ELEMENT_TYPE_UNSPECIFIED;
  if (is_number ? TypeHolds(cpp_type, type) : cpp_type == name) {
    return is_number ? LayoutOf(type) : LayoutOf(*FindStruct(problem, name));
  }
  return front.Error(
      key, absl::StrCat(what, " ", name, ", but the signature says ", cpp_type, ": write ",
                        is_number ? CppType(type) : name, " there, or another type here"));
}

absl::StatusOr<std::vector<v1::Fill>> ReadFills(const FrontMatter& front, const std::string& key,
                                                const v1::FrontMatter::Fill& fill,
                                                const ElementLayout& element) {
  RETURN_IF_ERROR(front.Require(key));
  const bool by_field = !fill.has_plain();
  if (by_field && !element.is_struct()) {
    return front.Error(key, absl::StrCat("'", key, "' must be one fill, such as uniform(-1, 1), ",
                                         "not a map: only a struct has fields"));
  }
  std::vector<std::string> names;
  for (const FieldLayout& field : element.fields) names.emplace_back(FieldNameOf(field));
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::string> texts;
  for (const v1::FrontMatter::FieldFill& given : fill.by_field()) {
    RETURN_IF_ERROR(front.RequireKey(key, given.key(), names));
    texts[given.key()] = given.value();
  }
  std::vector<v1::Fill> fills;
  for (const FieldLayout& field : element.fields) {
    const std::string field_name(FieldNameOf(field));
    const std::string field_key = by_field ? absl::StrCat(key, ".", field_name) : key;
    RETURN_IF_ERROR(front.Require(field_key));
    absl::StatusOr<v1::Fill> parsed =
        ParseFill(by_field ? texts[field_name] : fill.plain(), field.type);
    if (!parsed.ok()) {
      const bool one_for_all = element.is_struct() && !by_field;
      return front.Error(
          field_key,
          absl::StrCat(
              "'", field_key, "'", one_for_all ? absl::StrCat(" for field '", field_name, "'") : "",
              ": ", parsed.status().message(),
              one_for_all ? "; or give each field its own, as in {x: uniform(-1, 1), id: iota}"
                          : ""));
    }
    fills.push_back(*std::move(parsed));
  }
  return fills;
}

}  // namespace whetstone
