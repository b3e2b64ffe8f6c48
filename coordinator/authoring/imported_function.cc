#include "coordinator/authoring/imported_function.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/prompt_sections.h"

namespace whetstone {
namespace {

// Chooses the function, which may name `structs`, and returns its text and signature.
absl::StatusOr<ImportedFunction> Choose(const CppSource& source,
                                        const std::vector<StructDefinition>& structs,
                                        const std::string& name, const std::string& function) {
  std::vector<std::string> struct_names;
  for (const StructDefinition& definition : structs) struct_names.push_back(definition.name);
  ImportedFunction chosen;
  std::vector<std::string> callable;
  absl::Status first_error;
  for (const CppFunction& candidate : source.functions) {
    absl::StatusOr<Signature> signature = ParseSignature(candidate.signature, struct_names);
    if (!signature.ok()) {
      first_error.Update(PromptError(
          name, candidate.line,
          absl::StrCat("'", candidate.signature, "', ", signature.status().message(),
                       ". A problem is one function of numbers, structs of numbers, "
                       "containers of these and pointers to them, which nothing else in "
                       "the file calls; wrap yours in one, or choose one with "
                       "--function")));
      continue;
    }
    if (!function.empty() && signature->name != function) continue;
    callable.push_back(signature->name);
    chosen.signature = *std::move(signature);
    chosen.text = candidate.signature;
  }
  if (callable.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has several functions: choose one with --function (",
                     absl::StrJoin(callable, ", "), ") and make the others static"));
  }
  if (callable.size() == 1) return chosen;
  RETURN_IF_ERROR(first_error);
  return PromptError(name, 1,
                     function.empty()
                         ? std::string("there is no function at global scope that is not static")
                         : absl::StrCat("there is no function '", function,
                                        "' at global scope that is not static"));
}

}  // namespace

absl::StatusOr<ImportedFunction> FindImportedFunction(const CppSource& source,
                                                      const std::string& code,
                                                      const std::string& name,
                                                      const std::string& function) {
  const std::vector<StructDefinition> structs = FindStructs(code);
  ASSIGN_OR_RETURN(ImportedFunction chosen, Choose(source, structs, name, function));
  for (const StructDefinition& definition : structs) {
    if (!chosen.signature.Names(definition.name)) continue;
    if (!definition.type.has_value()) {
      return PromptError(
          name, definition.line,
          absl::StrCat("struct ", definition.name,
                       " has a member that is neither a number nor an array of numbers of constant "
                       "extents, the only ones that a problem's structs hold: pass the rest as "
                       "arguments of its own"));
    }
    if (LayoutOf(*definition.type).bytes > kStructBytesMax) {
      return PromptError(
          name, definition.line,
          absl::StrCat("struct ", definition.name, " has more than ", kStructBytesMax,
                       " bytes: pass its larger arrays as "
                       "arguments"));
    }
    *chosen.structs.add_structs() = *definition.type;
  }
  return chosen;
}

std::string WithoutStructsOf(const ImportedFunction& function, std::string code) {
  std::vector<StructDefinition> found = FindStructs(code);
  std::reverse(found.begin(), found.end());
  for (const StructDefinition& definition : found) {
    if (!IsStructOf(function.structs, definition)) continue;
    const size_t line_end = code.find_first_not_of(" \t", definition.end);
    const bool ends = line_end < code.size() && code[line_end] == '\n';
    code.erase(definition.begin, (ends ? line_end + 1 : definition.end) - definition.begin);
  }
  return code;
}

}  // namespace whetstone
