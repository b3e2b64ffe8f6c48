#include "coordinator/prompt/prompt_file.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/front_matter.h"
#include "coordinator/prompt/problem_reader.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr size_t kFrontMatterBytesMax = 64 << 10;

absl::Status CheckSections(const PromptParts& parts, absl::string_view name) {
  if (parts.prose.empty()) {
    return PromptError(name, parts.prose_line,
                       "there is no prose: say below the front matter what to compute");
  }
  if (parts.sections.count("reference") > 0) return absl::OkStatus();
  return PromptError(name, parts.last_line, "section '## reference' is missing");
}

// Returns whether `function` stands before a parenthesis somewhere: a quick look, for the worker
// compiles.
bool Mentions(const std::string& code, const std::string& function) {
  for (size_t at = code.find(function); at != std::string::npos; at = code.find(function, at + 1)) {
    const auto is_word = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (at > 0 && is_word(code[at - 1])) continue;
    const size_t end = code.find_first_not_of(" \t\n", at + function.size());
    if (end != std::string::npos && code[end] == '(') return true;
  }
  return false;
}

absl::Status CheckDefinitions(const PromptParts& parts, const std::string& function,
                              absl::string_view name) {
  for (const auto& [section, source] : parts.sections) {
    const std::string wanted = section == "generator" ? "generate"
                               : section == "checker" ? "check"
                                                      : function;
    if (Mentions(source.code, wanted)) continue;
    return PromptError(
        name, source.line,
        absl::StrCat("section '", section, "' must define the function '", wanted, "'"));
  }
  return absl::OkStatus();
}

// A section may repeat a struct of `types`, but not define another one of that name.
absl::Status CheckStructs(const PromptParts& parts, const v1::Problem& problem,
                          absl::string_view name) {
  if (problem.structs().empty()) return absl::OkStatus();
  for (const auto& [section, source] : parts.sections) {
    for (const StructDefinition& definition : FindStructs(source.code)) {
      if (FindStruct(problem, definition.name) == nullptr || IsStructOf(problem, definition)) {
        continue;
      }
      return PromptError(name, source.line,
                         absl::StrCat("section '", section, "' defines another ", definition.name,
                                      " than 'types': leave its definition out, or make both "
                                      "alike"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Problem> ParsePromptFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParsePrompt(text, path);
}

absl::StatusOr<v1::Problem> ParsePrompt(absl::string_view text, absl::string_view name) {
  if (text.size() > kPromptBytesMax) {
    return PromptError(name, 1,
                       absl::StrCat("the file has ", text.size(), " bytes, more than ",
                                    kPromptBytesMax, ": not a prompt file"));
  }
  ASSIGN_OR_RETURN(const PromptParts parts, SplitPrompt(text, name));
  if (parts.front_matter.size() > kFrontMatterBytesMax) {
    return PromptError(name, 1,
                       absl::StrCat("the front matter has ", parts.front_matter.size(),
                                    " bytes, more than ", kFrontMatterBytesMax));
  }
  v1::Problem problem;
  const auto code = [&](const char* section) {
    const auto it = parts.sections.find(section);
    return it == parts.sections.end() ? std::string() : WithoutStructs(it->second.code, problem);
  };
  // The front matter may leave out what these two decide.
  problem.set_generator(code("generator"));
  problem.set_checker(code("checker"));
  ASSIGN_OR_RETURN(const FrontMatter front,
                   FrontMatter::Parse(parts.front_matter, name, parts.front_matter_line));
  RETURN_IF_ERROR(ReadProblem(front, &problem));
  RETURN_IF_ERROR(CheckSections(parts, name));
  ASSIGN_OR_RETURN(const Signature signature, ParseSignature(problem));
  RETURN_IF_ERROR(CheckDefinitions(parts, signature.name, name));
  RETURN_IF_ERROR(CheckStructs(parts, problem, name));
  problem.set_prose(parts.prose);
  problem.set_generator(code("generator"));
  problem.set_checker(code("checker"));
  problem.set_reference(code("reference"));
  problem.set_expert(code("expert"));
  problem.set_oracle(code("oracle"));
  return problem;
}

PromptLocations PromptLocations::Read(absl::string_view text, absl::string_view name) {
  PromptLocations locations;
  locations.name_ = std::string(name);
  const absl::StatusOr<PromptParts> parts = SplitPrompt(text, name);
  if (!parts.ok()) return locations;
  for (const auto& [section, source] : parts->sections) {
    locations.parts_[section] = absl::StrCat(name, ":", source.line);
  }
  const absl::StatusOr<FrontMatter> front =
      FrontMatter::Parse(parts->front_matter, name, parts->front_matter_line);
  if (!front.ok()) return locations;
  const google::protobuf::Descriptor& keys = *front->keys().GetDescriptor();
  for (int i = 0; i < keys.field_count(); ++i) {
    const std::string& key = keys.field(i)->name();
    if (front->Given(key)) locations.parts_[key] = front->Where(key);
  }
  for (const v1::FrontMatter::NamedArgument& arg : front->keys().args()) {
    const std::string key = absl::StrCat("args.", arg.key());
    locations.parts_[key] = front->Where(key);
  }
  return locations;
}

std::string PromptLocations::Of(const std::string& part) const {
  const auto it = parts_.find(part);
  return it == parts_.end() ? name_ : it->second;
}

absl::Status CheckTrainable(const v1::Problem& problem, const std::string& path) {
  if (problem.split() == v1::Problem::TRAIN) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'problems': ", path, " is held out of training (split: ", SplitName(problem),
                   "): training on it would make it worthless as a test. Leave it out of the "
                   "campaign, and measure "
                   "programs for it with: whet measure ",
                   path, " PROGRAM.cc"));
}

absl::Status CheckHeldOut(const v1::Problem& problem, const std::string& path) {
  if (problem.split() == v1::Problem::VALID) return absl::OkStatus();
  const char* const why =
      problem.split() == v1::Problem::TRAIN
          ? "is a training problem (split: train), so what it shows may be memory"
          : "is kept for final figures (split: test), and an evaluation steers what is tried next";
  return absl::InvalidArgumentError(
      absl::StrCat("'eval.problems': ", path, " ", why,
                   ". A campaign that learns may evaluate only problems of 'split: valid', such as "
                   "those of prompts/valid"));
}

std::string SplitName(const v1::Problem& problem) {
  return absl::AsciiStrToLower(v1::Problem::Split_Name(problem.split()));
}

}  // namespace whetstone
