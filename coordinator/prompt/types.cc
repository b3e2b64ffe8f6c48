#include "coordinator/prompt/types.h"

#include <algorithm>

#include "absl/strings/match.h"
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

// Names that the C++ around a problem already uses.
bool IsTaken(const std::string& name) {
  const std::vector<std::string>& sections = SectionNames();
  return std::find(sections.begin(), sections.end(), name) != sections.end() ||
         ElementTypeOfCpp(name) != v1::ELEMENT_TYPE_UNSPECIFIED ||
         ParseElementType(name) != v1::ELEMENT_TYPE_UNSPECIFIED || name == "std" ||
         name == "candidate" || name == "benchmark" || absl::StartsWith(name, "whet_") ||
         absl::StartsWith(name, "_");
}

absl::Status ReadFields(const YamlMap& types, const std::string& name, v1::StructType* type) {
  ASSIGN_OR_RETURN(const YamlMap fields, types.Map(name));
  if (fields.keys().empty() || fields.keys().size() > kFieldsMax) {
    return types.Error(
        name, absl::StrCat("struct ", name, " has ", fields.keys().size(), " fields: give it 1 to ",
                           kFieldsMax, ", as in {x: f32, y: f32}"));
  }
  for (const std::string& key : fields.keys()) {
    if (!IsIdentifier(key) || ElementTypeOfCpp(key) != v1::ELEMENT_TYPE_UNSPECIFIED) {
      return fields.Error(key, absl::StrCat("'", key, "' cannot name a field of ", name));
    }
    if (fields.IsMap(key) || fields.IsList(key)) {
      return fields.Error(key,
                          absl::StrCat("field '", key, "' of ", name,
                                       " is not a number: a struct holds numbers only, so list "
                                       "each as a field of its own"));
    }
    ASSIGN_OR_RETURN(const std::string text, fields.String(key));
    if (types.Has(text)) {
      return fields.Error(key, absl::StrCat("field '", key, "' of ", name, " is a ", text,
                                            ": a struct in a struct is not supported, so list the "
                                            "fields of ",
                                            text, " in ", name));
    }
    const v1::ElementType element = ParseElementType(text);
    if (element == v1::ELEMENT_TYPE_UNSPECIFIED) {
      const v1::ElementType meant = ElementTypeOfCpp(text);
      return fields.Error(
          key,
          absl::StrCat("field '", key, "' of ", name, ": unknown type '", text, "'; did you mean '",
                       meant == v1::ELEMENT_TYPE_UNSPECIFIED ? Nearest(text, ElementTypeNames())
                                                             : ElementTypeName(meant),
                       "'? Valid: ", absl::StrJoin(ElementTypeNames(), ", ")));
    }
    v1::StructType::Field* field = type->add_fields();
    field->set_name(key);
    field->set_type(element);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status NotOneOf(const YamlMap& map, absl::string_view key, absl::string_view got,
                      const std::vector<std::string>& known) {
  return map.Error(
      key, absl::StrCat("unknown ", key, " '", got, "'; did you mean '", Nearest(got, known),
                        "'? Valid: ", absl::StrJoin(known, ", ")));
}

absl::Status ReadTypes(const YamlMap& top, v1::Problem* problem) {
  if (!top.Has("types")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const YamlMap types, top.Map("types"));
  if (types.keys().size() > kStructsMax) {
    return top.Error("types", absl::StrCat("'types' has ", types.keys().size(),
                                           " structs, more than ", kStructsMax));
  }
  for (const std::string& name : types.keys()) {
    if (!IsIdentifier(name) || IsTaken(name)) {
      return types.Error(name, absl::StrCat("'", name,
                                            "' cannot name a struct: take another "
                                            "name, as in Point"));
    }
    v1::StructType* type = problem->add_structs();
    type->set_name(name);
    RETURN_IF_ERROR(ReadFields(types, name, type));
  }
  return absl::OkStatus();
}

absl::Status CheckTypesUsed(const YamlMap& top, const v1::Problem& problem,
                            const Signature& signature) {
  for (const v1::StructType& type : problem.structs()) {
    const std::string& name = type.name();
    if (signature.Names(name)) continue;
    ASSIGN_OR_RETURN(const YamlMap types, top.Map("types"));
    return types.Error(name, absl::StrCat("the signature does not use struct ", name,
                                          ": leave it out (what only the code uses, the code "
                                          "defines)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementLayout> ReadType(const YamlMap& map, const v1::Problem& problem,
                                       const std::string& what, const std::string& cpp_type) {
  ASSIGN_OR_RETURN(const std::string name, map.String("type"));
  const v1::ElementType type = ParseElementType(name);
  bool agrees = false;
  std::string suggestion;
  ElementLayout element;
  if (type != v1::ELEMENT_TYPE_UNSPECIFIED) {
    element = LayoutOf(type);
    agrees = TypeHolds(cpp_type, type);
    suggestion = CppType(type);
  } else {
    std::vector<std::string> known = ElementTypeNames();
    for (const v1::StructType& known_struct : problem.structs()) {
      known.push_back(known_struct.name());
      if (name == known_struct.name()) element = LayoutOf(known_struct);
    }
    if (!element.is_struct()) return NotOneOf(map, "type", name, known);
    agrees = cpp_type == name;
    suggestion = name;
  }
  if (agrees) return element;
  return map.Error("type", absl::StrCat(what, " ", name, ", but the signature says ", cpp_type,
                                        ": write ", suggestion, " there, or another type here"));
}

absl::StatusOr<std::vector<v1::Fill>> ReadFills(const YamlMap& map, const ElementLayout& element) {
  std::vector<v1::Fill> fills;
  const bool by_field = element.is_struct() && map.IsMap("fill");
  absl::StatusOr<YamlMap> fields = map;
  if (by_field) {
    ASSIGN_OR_RETURN(fields, map.Map("fill"));
    std::vector<std::string> names;
    for (const FieldLayout& field : element.fields) names.push_back(field.name);
    RETURN_IF_ERROR(fields->AllowOnly(names));
  }
  for (const FieldLayout& field : element.fields) {
    const std::string key = by_field ? field.name : "fill";
    ASSIGN_OR_RETURN(const std::string text, fields->String(key));
    absl::StatusOr<v1::Fill> fill = ParseFill(text, field.type);
    if (!fill.ok()) {
      const bool one_for_all = element.is_struct() && !by_field;
      return fields->Error(
          key, absl::StrCat("'", fields->Path(key), "'",
                            one_for_all ? absl::StrCat(" for field '", field.name, "'") : "", ": ",
                            fill.status().message(),
                            one_for_all ? "; or give each field its own, as in {x: uniform(-1, 1), "
                                          "id: iota}"
                                        : ""));
    }
    fills.push_back(*std::move(fill));
  }
  return fills;
}

}  // namespace whetstone
