#include "coordinator/authoring/input_generator.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/prompt_sections.h"

namespace whetstone {
namespace {

constexpr char kGenerate[] = "generate";
constexpr char kSeedType[] = "unsigned long long";

// Returns "int* order, int n": what a generator is given before the seed.
std::string Writable(const Signature& signature) {
  return absl::StrJoin(
      signature.parameters, ", ", [](std::string* text, const Parameter& parameter) {
        absl::StrAppend(text, parameter.type, parameter.pointer ? "* " : " ", parameter.name);
      });
}

// Returns `name` with as many underscores as make it none of the parameters'.
std::string FreshName(std::string name, const Signature& signature) {
  while (absl::c_any_of(signature.parameters, [&](const Parameter& p) { return p.name == name; }))
    name += '_';
  return name;
}

// Says whether these are the function's parameters, writable, and a seed.
bool IsGeneratorOf(const Signature& signature, const Signature& generator) {
  const auto& wanted = signature.parameters;
  const auto& given = generator.parameters;
  if (generator.return_type != "void" || given.size() != wanted.size() + 1) return false;
  const auto alike = [](const Parameter& a, const Parameter& b) {
    return a.type == b.type && a.pointer == b.pointer && !(b.pointer && b.is_const);
  };
  return std::equal(wanted.begin(), wanted.end(), given.begin(), alike) &&
         given.back().type == kSeedType && !given.back().pointer;
}

}  // namespace

std::string GeneratorHead(const Signature& signature) {
  return absl::StrCat("void ", kGenerate, "(", Writable(signature), ", ", kSeedType, " ",
                      FreshName("seed", signature), ")");
}

std::string GeneratorAdvice(const Signature& signature) {
  return absl::StrCat(
      "; inputs that must fit together a function of yours makes: --generator FILE with '",
      GeneratorHead(signature), "'");
}

absl::StatusOr<InputGenerator> ReadInputGenerator(const GivenGenerator& given,
                                                  std::vector<std::string> headers,
                                                  const ImportedFunction& function) {
  const std::string wanted = GeneratorHead(function.signature);
  ASSIGN_OR_RETURN(const CppSource source, ReadCppSource(given.code, given.name));
  std::vector<std::string> structs;
  for (const StructDefinition& definition : FindStructs(given.code)) {
    const bool known = FindStruct(function.structs, definition.name) != nullptr;
    if (known && !IsStructOf(function.structs, definition)) {
      return PromptError(given.name, definition.line,
                         absl::StrCat("struct ", definition.name,
                                      " is another than the function's: leave its definition out, "
                                      "or make both alike"));
    }
  }
  for (const v1::StructType& type : function.structs.structs()) structs.push_back(type.name());
  const CppFunction* other = nullptr;
  for (const CppFunction& each : source.functions) {
    if (NameOfFunction(each.signature) != kGenerate) continue;
    other = &each;
    const absl::StatusOr<Signature> signature = ParseSignature(each.signature, structs);
    if (!signature.ok() || !IsGeneratorOf(function.signature, *signature)) continue;
    for (const std::string& header : source.headers) {
      if (!absl::c_linear_search(headers, header)) headers.push_back(header);
    }
    return InputGenerator{WithoutStructsOf(function, given.code), std::move(headers)};
  }
  if (other != nullptr) {
    return PromptError(given.name, other->line,
                       absl::StrCat("'", other->signature, "' must be '", wanted, "'"));
  }
  return PromptError(given.name, 1,
                     absl::StrCat("there is no function '", kGenerate,
                                  "' at global scope that is not static: define '", wanted, "'"));
}

SelfSufficient WithItsInputs(const std::string& code, const ImportedFunction& function,
                             const InputGenerator& generator) {
  SelfSufficient made{code, function};
  Signature& signature = made.function.signature;
  for (Parameter& parameter : signature.parameters) parameter.is_const = false;
  const std::string arguments = absl::StrJoin(
      signature.parameters, ", ",
      [](std::string* text, const Parameter& parameter) { text->append(parameter.name); });
  // A fraction, as whole numbers may be sizes.
  const std::string drawn = FreshName("whet_drawn", signature);
  const std::string seed = FreshName("whet_seed", signature);
  signature.name = FreshName("whet_with_inputs", signature);
  signature.parameters.push_back({"double", /*is_const=*/false, /*pointer=*/false, drawn});
  made.function.text =
      absl::StrCat(signature.return_type, " ", signature.name, "(", Writable(signature), ")");
  // Its helpers may be called as the function's are. Headers were included before. The top bit of a
  // seed asks for what is unlikely.
  absl::StrAppend(&made.code, "\nnamespace whet_inputs {\n", generator.code, "\n}\n",
                  made.function.text, " {\n  ", kSeedType, " ", seed, ";\n  __builtin_memcpy(&",
                  seed, ", &", drawn, ", 8);\n  ::whet_inputs::", kGenerate, "(", arguments, ", ",
                  seed, " >> 1);\n  return ::", function.signature.name, "(", arguments, ");\n}\n");
  return made;
}

}  // namespace whetstone
