#include "coordinator/prompt/worked_examples.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/nearest_examples.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/prompt/render.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

// The upper part of every random stream's key says what the numbers are for.
enum Purpose : uint64_t { kShuffle = 1, kRename = 2 };

// Says what is wrong with one field of a line; empty if nothing is.
std::string WrongField(const std::string& key, const nlohmann::json& value) {
  static const auto* const kTexts = new std::set<std::string>{
      "id", "prose", "prompt_code", "rewrite", "family", "canonical_hash"};
  if (kTexts->count(key) > 0) {
    return value.is_string() ? "" : absl::StrCat("'", key, "' must be a string");
  }
  if (key == "techniques") {
    bool texts = value.is_array();
    for (const auto& technique : value) texts = texts && technique.is_string();
    return texts ? "" : "'techniques' must be a list of strings";
  }
  if (key == "gain") {
    return value.is_number() && value.get<double>() > 0 ? "" : "'gain' must be a positive number";
  }
  if (key == "difficulty") {
    return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1
               ? ""
               : "'difficulty' must be a number from 0 to 1";
  }
  return absl::StrCat("unknown key '", key,
                      "': valid keys are id, prose, prompt_code, rewrite, family, techniques, "
                      "gain, difficulty, canonical_hash");
}

absl::StatusOr<WorkedExample> ParseLine(const std::string& line, absl::string_view name,
                                        int number) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return PromptError(name, number, "not valid JSON");
  if (!json.is_object()) return PromptError(name, number, "must be a JSON object");
  WorkedExample example;
  example.line = line;
  const std::map<std::string, std::string*> fields = {{"id", &example.id},
                                                      {"prose", &example.prose},
                                                      {"prompt_code", &example.prompt_code},
                                                      {"rewrite", &example.rewrite},
                                                      {"canonical_hash", &example.canonical_hash}};
  for (const auto& [key, value] : json.items()) {
    if (const std::string wrong = WrongField(key, value); !wrong.empty()) {
      return PromptError(name, number, wrong);
    }
    if (key == "gain") example.gain = value.get<double>();
    if (key == "difficulty") example.difficulty = value.get<double>();
    if (const auto field = fields.find(key); field != fields.end()) {
      *field->second = value.get<std::string>();
    }
  }
  for (const char* required : {"id", "prompt_code", "rewrite"}) {
    if (fields.at(required)->empty()) {
      return PromptError(name, number, absl::StrCat("'", required, "' is missing or empty"));
    }
  }
  return example;
}

// Whether the signature means the same before `code`, which stands before its function, and may be
// written twice.
bool MayBeDeclaredFirst(absl::string_view code, absl::string_view signature) {
  for (const char* word :
       {"typedef", "using ", "#define", "struct ", "class ", "enum ", "extern"}) {
    if (absl::StrContains(code, word)) return false;
  }
  // What ends otherwise is the head's own beginning: a template, an attribute, the type it returns.
  const absl::string_view before = absl::StripTrailingAsciiWhitespace(code);
  const std::vector<absl::string_view> lines = absl::StrSplit(before, '\n');
  const bool ends = before.empty() || absl::EndsWith(before, ";") || absl::EndsWith(before, "}") ||
                    absl::StartsWith(absl::StripLeadingAsciiWhitespace(lines.back()), "#");
  return ends && !absl::StrContains(signature, '=');
}

// Says whether there is nothing but blank lines and #include in `code`.
bool OnlyIncludes(absl::string_view code) {
  for (const absl::string_view line : absl::StrSplit(code, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty() && !absl::StartsWith(text, "#include")) return false;
  }
  return true;
}

// Returns the answer that gives `program`, if possible such that it begins with `prefix`: without
// #include lines before the function that `signature` begins, or with `declaration` before helpers
// and pragmas, or where the program says more of its pointers (__restrict).
std::string AnswerWith(absl::string_view prefix, absl::string_view program,
                       const std::string& signature, absl::string_view declaration) {
  const std::string answer = RenderAnswer(program);
  if (signature.empty() || absl::StartsWith(answer, prefix)) return answer;
  const size_t begin = program.find(signature);
  const absl::string_view before = program.substr(0, begin);
  if (OnlyIncludes(before)) {
    std::string bare = RenderAnswer(program.substr(begin));
    if (absl::StartsWith(bare, prefix)) return bare;
  }
  if (MayBeDeclaredFirst(before, declaration)) {
    std::string declared = RenderAnswer(absl::StrCat(declaration, ";\n", program));
    if (absl::StartsWith(declared, prefix)) return declared;
  }
  return answer;
}

// The prefix is cut off where the answer begins with it.
void SetAnswer(absl::string_view answer, absl::string_view prefix, v1::SftExample* example) {
  if (!absl::ConsumePrefix(&answer, prefix)) prefix = "";
  if (!prefix.empty()) example->set_response_prefix(std::string(prefix));
  example->set_response(std::string(answer));
}

// Returns usual other names of the letters that worked examples use; the first is the letter
// itself.
const std::map<std::string, std::vector<std::string>>& LetterNames() {
  static const auto* const kNames = new std::map<std::string, std::vector<std::string>>{
      {"n", {"n", "n", "m", "len", "size", "count", "num"}},
      {"a", {"a", "a", "x", "src", "in", "p", "u", "data"}},
      {"b", {"b", "b", "y", "v", "other", "rhs"}},
      {"c", {"c", "c", "out", "dst", "z", "res"}},
      {"i", {"i", "i", "i", "r", "row"}},
      {"j", {"j", "j", "j", "col", "q"}},
      {"k", {"k", "k", "t", "l"}},
      {"s", {"s", "s", "acc", "sum", "total"}},
      {"x", {"x", "x", "vec", "in"}},
      {"y", {"y", "y", "out", "dst"}},
  };
  return *kNames;
}

const std::vector<std::string>& FunctionSuffixes() {
  static const auto* const kSuffixes =
      new std::vector<std::string>{"_f32", "2", "_n", "_ref", "_simple"};
  return *kSuffixes;
}

const std::vector<std::string>& FunctionNames() {
  static const auto* const kNames = new std::vector<std::string>{
      "kernel", "f", "func", "apply", "compute", "process", "run", "op", "task"};
  return *kNames;
}

// "s1" is the letter "s" and the tail "1"; two words with one letter are renamed alike.
bool SplitLetter(const std::string& word, std::string* letter, std::string* tail) {
  *letter = word.substr(0, 1);
  *tail = word.substr(1);
  return LetterNames().count(*letter) > 0 &&
         tail->find_first_not_of("0123456789") == std::string::npos;
}

template <typename T>
const T& Pick(const std::vector<T>& list, Philox& rng) {
  return list[rng.Below(list.size())];
}

// The function's name is the word before the first parenthesis.
std::string FunctionName(const std::string& code) {
  size_t end = code.find('(');
  if (end == std::string::npos) return "";
  while (end > 0 && code[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && IsWordChar(code[begin - 1])) --begin;
  return code.substr(begin, end - begin);
}

void Shuffle(std::vector<size_t>& order, Philox rng) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
}

}  // namespace

absl::StatusOr<std::vector<WorkedExample>> ReadWorkedExamples(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseWorkedExamples(text, path);
}

absl::StatusOr<std::vector<WorkedExample>> ParseWorkedExamples(absl::string_view text,
                                                               absl::string_view name) {
  std::vector<WorkedExample> examples;
  int number = 0;
  for (const absl::string_view piece : absl::StrSplit(text, '\n')) {
    ++number;
    const std::string line(absl::StripAsciiWhitespace(piece));
    if (line.empty()) continue;
    ASSIGN_OR_RETURN(WorkedExample example, ParseLine(line, name, number));
    examples.push_back(std::move(example));
  }
  if (examples.empty()) return PromptError(name, 1, "the file holds no worked example");
  return examples;
}

v1::SftExample ToSftExample(const WorkedExample& example, absl::string_view response_prefix) {
  v1::SftExample result;
  for (v1::Message& message : RenderMessages(example.prose, example.prompt_code)) {
    *result.add_messages() = std::move(message);
  }
  const std::string signature = SignatureText(example.rewrite, FunctionName(example.prompt_code));
  const bool known = !signature.empty() || !absl::StrContains(response_prefix, kSignatureWord);
  const std::string prefix = RenderResponsePrefix(response_prefix, signature);
  SetAnswer(AnswerWith(prefix, example.rewrite, signature, signature), known ? prefix : "",
            &result);
  return result;
}

WorkedExample RenameIdentifiers(const WorkedExample& example, uint64_t seed, uint64_t draw) {
  Philox rng(seed, {kRename, draw, 0, 0});
  std::set<std::string> words;
  const auto collect = [&](const std::string& word) {
    words.insert(word);
    return word;
  };
  MapIdentifiers(example.prompt_code, collect);
  MapIdentifiers(example.rewrite, collect);

  std::map<std::string, std::string> letters;
  std::map<std::string, std::string> names;
  for (const std::string& word : words) {
    std::string letter;
    std::string tail;
    if (!SplitLetter(word, &letter, &tail)) continue;
    if (letters.count(letter) == 0) letters[letter] = Pick(LetterNames().at(letter), rng);
    names[word] = letters[letter] + tail;
  }
  const std::string function = FunctionName(example.prompt_code);
  if (rng.Uniform() < 0.7) {
    const uint64_t pick = rng.Below(FunctionSuffixes().size() + FunctionNames().size());
    names[function] = pick < FunctionSuffixes().size()
                          ? function + FunctionSuffixes()[pick]
                          : FunctionNames()[pick - FunctionSuffixes().size()];
  }
  const auto renamed = [&](const std::string& word) {
    const auto it = names.find(word);
    return it == names.end() ? word : it->second;
  };
  std::set<std::string> after;
  for (const std::string& word : words) after.insert(renamed(word));
  if (after.size() != words.size()) return example;
  WorkedExample result = example;
  result.prompt_code = MapIdentifiers(example.prompt_code, renamed);
  result.rewrite = MapIdentifiers(example.rewrite, renamed);
  return result;
}

v1::SftExample OwnExample(const v1::Problem& problem, absl::string_view program,
                          const std::string& prefix) {
  v1::SftExample result;
  for (v1::Message& message : RenderMessages(problem)) *result.add_messages() = std::move(message);
  const absl::string_view code = absl::StripAsciiWhitespace(program);
  const absl::StatusOr<Signature> signature = ParseSignature(problem);
  const std::string text = signature.ok() ? SignatureText(code, signature->name) : "";
  // As the campaign's own prefix has it.
  const std::string declaration = RenderResponsePrefix(kSignatureWord, problem);
  SetAnswer(AnswerWith(prefix, code, text, declaration), prefix, &result);
  return result;
}

absl::Status CheckRewrites(const std::vector<v1::Problem>& problems,
                           const std::vector<WorkedExample>& rewrites) {
  std::set<std::string> references;
  for (const v1::Problem& problem : problems) references.insert(problem.reference());
  for (const WorkedExample& rewrite : rewrites) {
    if (references.count(rewrite.prompt_code) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", rewrite.id,
        "' rewrites no reference of the campaign's problems, as they are now; make the "
        "file anew (whet rewrite)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::SftExample>> OwnExamples(const std::vector<v1::Problem>& problems,
                                                        const std::vector<WorkedExample>& rewrites,
                                                        size_t copies,
                                                        absl::string_view response_prefix) {
  RETURN_IF_ERROR(CheckRewrites(problems, rewrites));
  std::vector<v1::SftExample> examples;
  for (const v1::Problem& problem : problems) {
    const std::string prefix = RenderResponsePrefix(response_prefix, problem);
    std::vector<std::string> programs;
    for (const WorkedExample& rewrite : rewrites) {
      if (rewrite.prompt_code == problem.reference()) programs.push_back(rewrite.rewrite);
    }
    const size_t shown = programs.empty() ? copies : kCopiesOfRewrite * copies;
    if (programs.empty()) programs.push_back(problem.reference());
    for (const std::string& program : programs) {
      examples.insert(examples.end(), shown, OwnExample(problem, program, prefix));
    }
  }
  return examples;
}

std::string ExpertOf(const v1::Problem& problem, const std::vector<WorkedExample>& rewrites) {
  const WorkedExample* fastest = nullptr;
  for (const WorkedExample& rewrite : rewrites) {
    if (rewrite.prompt_code != problem.reference()) continue;
    if (rewrite.gain.value_or(0) < kLeastGainOfExpert) continue;
    if (fastest == nullptr || rewrite.gain > fastest->gain) fastest = &rewrite;
  }
  return fastest == nullptr ? std::string() : fastest->rewrite;
}

absl::StatusOr<std::vector<WorkedExample>> ReadRewrites(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (absl::StripAsciiWhitespace(text).empty()) return std::vector<WorkedExample>();
  return ParseWorkedExamples(text, path);
}

std::vector<WorkedExample> ChooseExamples(std::vector<WorkedExample> examples,
                                          const WarmupOptions& options) {
  std::erase_if(examples, [&](const WorkedExample& example) {
    return example.rewrite.size() > options.max_response_chars;
  });
  if (options.nearest > 0) examples = NearestExamples(examples, options.functions, options.nearest);
  return examples;
}

std::vector<std::vector<v1::SftExample>> PlanWarmup(const std::vector<WorkedExample>& chosen,
                                                    const WarmupOptions& options) {
  const size_t shown = chosen.size() + options.own.size();
  const auto difficulty = [&](size_t index) {
    return index < chosen.size() ? chosen[index].difficulty.value_or(0) : 0.5;
  };
  const auto draws_total =
      static_cast<uint64_t>(std::llround(options.epochs * static_cast<double>(shown)));
  const auto batch_size = static_cast<size_t>(std::max(1, options.batch_size));
  std::vector<std::vector<v1::SftExample>> batches;
  uint64_t draw = 0;
  for (uint64_t epoch = 0; draw < draws_total; ++epoch) {
    std::vector<size_t> order(shown);
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    Shuffle(order, Philox(options.seed, {kShuffle, epoch, 0, 0}));
    order.resize(std::min<size_t>(order.size(), draws_total - draw));
    if (options.curriculum) {
      std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
        return difficulty(left) < difficulty(right);
      });
    }
    for (const size_t index : order) {
      if (draw % batch_size == 0) batches.emplace_back();
      if (index >= chosen.size()) {
        batches.back().push_back(options.own[index - chosen.size()]);
      } else {
        const bool rename = Philox(options.seed, {kRename, draw, 1, 0}).Uniform() < 0.5;
        batches.back().push_back(ToSftExample(
            rename ? RenameIdentifiers(chosen[index], options.seed, draw) : chosen[index],
            options.response_prefix));
      }
      ++draw;
    }
  }
  return batches;
}

}  // namespace whetstone
