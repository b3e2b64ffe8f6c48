#include "coordinator/authoring/input_generator.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/prompt_sections.h"

namespace whetstone {
namespace {

constexpr char kGenerate[] = "generate";
constexpr char kSeedType[] = "unsigned long long";
constexpr char kWithInputs[] = "whet_with_inputs";

// Returns "int* order, int n": what a generator, and a function that has one, is given.
std::string Writable(const Signature& signature) {
  return absl::StrJoin(
      signature.parameters, ", ", [](std::string* text, const Parameter& parameter) {
        absl::StrAppend(text, parameter.type, parameter.pointer ? "* " : " ", parameter.name);
      });
}

bool AreAlike(const Parameter& parameter, const Parameter& generated) {
  return parameter.type == generated.type && parameter.pointer == generated.pointer &&
         !(generated.pointer && generated.is_const);
}

// Says whether these are the function's parameters, writable, and a seed.
bool IsGeneratorOf(const Signature& signature, const Signature& generator) {
  const auto& wanted = signature.parameters;
  const auto& given = generator.parameters;
  if (generator.return_type != "void" || given.size() != wanted.size() + 1) return false;
  return std::equal(wanted.begin(), wanted.end(), given.begin(), AreAlike) &&
         given.back().type == kSeedType && !given.back().pointer;
}

}  // namespace

std::string GeneratorHead(const Signature& signature) {
  return absl::StrCat("void ", kGenerate, "(", Writable(signature), ", ", kSeedType, " seed)");
}

std::string GeneratorAdvice(const Signature& signature) {
  return absl::StrCat(
      "; inputs that must fit together a function of yours makes: --generator FILE with '",
      GeneratorHead(signature), "'");
}

absl::StatusOr<InputGenerator> ReadInputGenerator(const std::string& code, const std::string& name,
                                                  std::vector<std::string> headers,
                                                  const ImportedFunction& function) {
  const std::string wanted = GeneratorHead(function.signature);
  ASSIGN_OR_RETURN(const CppSource source, ReadCppSource(code, name));
  const auto found = std::find_if(
      source.functions.begin(), source.functions.end(),
      [](const CppFunction& each) { return NameOfFunction(each.signature) == kGenerate; });
  if (found == source.functions.end()) {
    return PromptError(
        name, 1, absl::StrCat("there is no function '", kGenerate, "' at global scope: ", wanted));
  }
  std::vector<std::string> structs;
  for (const v1::StructType& type : function.structs.structs()) structs.push_back(type.name());
  const absl::StatusOr<Signature> signature = ParseSignature(found->signature, structs);
  if (!signature.ok() || !IsGeneratorOf(function.signature, *signature)) {
    return PromptError(name, found->line,
                       absl::StrCat("'", found->signature, "' must be '", wanted, "'",
                                    signature.ok() ? "" : ": ", signature.status().message()));
  }
  for (const std::string& header : source.headers) {
    if (!absl::c_linear_search(headers, header)) headers.push_back(header);
  }
  InputGenerator generator{WithoutStructsOf(function, code), std::move(headers), {}};
  const std::string masked = CodeText(code).masked().substr(0, found->close);
  for (size_t i = 0; i < function.signature.parameters.size(); ++i) {
    const Parameter& parameter = function.signature.parameters[i];
    const std::string& named = signature->parameters[i].name;
    if (parameter.pointer && FindWord(masked, named, found->open) != std::string::npos) {
      generator.writes.insert(parameter.name);
    }
  }
  return generator;
}

SelfSufficient WithItsInputs(const std::string& code, const ImportedFunction& function,
                             const InputGenerator& generator) {
  SelfSufficient made{code, function};
  const std::string arguments = absl::StrJoin(
      function.signature.parameters, ", ",
      [](std::string* text, const Parameter& parameter) { text->append(parameter.name); });
  made.function.text = absl::StrCat("void ", kWithInputs, "(", Writable(function.signature), ")");
  made.function.signature.name = kWithInputs;
  made.function.signature.return_type = "void";
  for (Parameter& parameter : made.function.signature.parameters) parameter.is_const = false;
  // Its helpers may be called as the function's are. Headers were included before.
  absl::StrAppend(&made.code, "\nnamespace whet_inputs {\n", generator.code, "\n}\n",
                  made.function.text,
                  " {\n  for (unsigned long long whet_seed = 1; whet_seed <= 3; ++whet_seed) {\n"
                  "    whet_inputs::",
                  kGenerate, "(", arguments, ", whet_seed);\n    ", function.signature.name, "(",
                  arguments, ");\n  }\n}\n");
  return made;
}

}  // namespace whetstone
