#include "cpu_bench_worker/rewrite/rewrite.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "clang/AST/Decl.h"
#include "clang/Format/Format.h"
#include "cpu_bench_worker/screen/parse.h"

namespace whetstone {
namespace {

// Whether a variable is named in a macro, where no edit can reach it.
bool NamesInMacros(const FunctionCode& code) {
  for (const clang::Stmt* stmt : Below(code.body()))
    if (NamedVariable(stmt) != nullptr && stmt->getBeginLoc().isMacroID()) return true;
  return false;
}

// Formats the body of the function that begins with the text `function` and ends `behind` bytes
// before the program does.
std::string Formatted(const std::string& source, const std::string& function, size_t behind) {
  const size_t found = source.rfind(function, source.size() - behind);
  if (found == std::string::npos) return source;
  const size_t before = found + function.size();
  clang::format::FormatStyle style =
      clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.IndentWidth = 4;
  style.ColumnLimit = 100;
  style.MaxEmptyLinesToKeep = 0;
  style.AllowShortIfStatementsOnASingleLine = clang::format::FormatStyle::SIS_Never;
  style.AllowShortLoopsOnASingleLine = false;
  style.AllowShortBlocksOnASingleLine = clang::format::FormatStyle::SBS_Never;
  const std::string head = "void f() ";
  const std::string body = head + source.substr(before, source.size() - before - behind);
  llvm::Expected<std::string> formatted = clang::tooling::applyAllReplacements(
      body, clang::format::reformat(
                style, body, {clang::tooling::Range(0, static_cast<unsigned>(body.size()))}));
  if (!formatted) {
    llvm::consumeError(formatted.takeError());
    return source;
  }
  return source.substr(0, before) + formatted->substr(head.size()) +
         source.substr(source.size() - behind);
}

// What all rules make of one of the program's functions, but for those that are not `wanted`.
void RewriteFunction(const FunctionCode& code, const clang::FunctionDecl& definition,
                     const std::function<bool(const std::string& rule)>& wanted,
                     Rewrites* rewrites) {
  Rewrites found;
  for (const auto rule : {&InlineCalls,
                          &LambdasApart,
                          &CallOnce,
                          &ExchangeLoops,
                          &RunTurnsSideBySide,
                          &ClipBounds,
                          &SplitInterior,
                          &SeveralAccumulators,
                          &KeepInVariable,
                          &CountFromCounter,
                          &SumInNarrowParts,
                          &KeepStorage,
                          &FillByPlace,
                          &RunByPlace,
                          &ReadWithoutCopy,
                          &FieldsInVariables,
                          &GroupByDivisor,
                          &RemaindersByComparison,
                          &CutCircles,
                          &CountRemainders,
                          &MultiplyByInverse,
                          &LookBack,
                          &HoistCalls,
                          &TabulateTurns,
                          &TabulateParts,
                          &TabulateElements,
                          &TabulateValues,
                          &CarryAlong,
                          &CompareSquares,
                          &MultiplyPowers,
                          &EndComputedOnce,
                          &MoveSums,
                          &MoveReaches,
                          &SubtractSums,
                          &TakeColumns,
                          &DoLoopsOnce,
                          &MoveBefore,
                          &FactorOut,
                          &BorderApart,
                          &PadReads,
                          &SeveralTables,
                          &StepByTable,
                          &SelectWithoutBranch,
                          &GoToTheValue,
                          &EndEarly,
                          &GoOnWhereItEnded,
                          &TabulateBytes,
                          &CountBits,
                          &CountInOneStep,
                          &OnlyMatches,
                          &CountInOrder,
                          &SearchToTheEnd,
                          &GiveUpEarly,
                          &KeepBestValue,
                          &TakeNth,
                          &GatherFirst,
                          &CountWithoutBranches,
                          &ChooseThePlace,
                          &DeclareWhereSet,
                          &PlainLoops,
                          &CountUp,
                          &CountFromZero,
                          &NameCalls,
                          &ConditionsInVariables,
                          &TakeEveryBit,
                          &JoinGuards,
                          &GuardByCounters,
                          &LeaveOutOneTurn,
                          &CheapGuardsFirst,
                          &RowsInOneArray,
                          &KeepTwoRows,
                          &UnrollByPragma,
                          &IndependentTurnsByPragma})
    rule(code, &found);
  const std::string source = code.Source({});
  const size_t begin = code.At(definition.getBeginLoc());
  const std::string head = source.substr(begin, code.Begin(code.body()) - begin);
  const size_t behind = source.size() - code.End(code.body());
  for (Rewrite& rewrite : found)
    if (wanted(rewrite.rule))
      rewrites->push_back({rewrite.rule, Formatted(rewrite.source, head, behind)});
}

// Calls `look` with each of the program's functions, and whether it is `function`. Returns why that
// one cannot be looked at, or "".
std::string ForEachFunction(
    const std::vector<std::string>& flags, const std::string& pch, const std::string& function,
    const std::string& source, const std::map<std::string, std::string>& lengths,
    const std::function<void(const FunctionCode&, const clang::FunctionDecl&, bool)>& look) {
  std::string refused = "no function '" + function + "' is defined at the program's top level";
  const std::string errors = WithProgram(
      flags, pch, source,
      [&](clang::ASTContext* context, const std::vector<clang::Decl*>& declarations) {
        for (const clang::Decl* decl : declarations) {
          const auto* definition = clang::dyn_cast<clang::FunctionDecl>(decl);
          if (definition == nullptr || !definition->doesThisDeclarationHaveABody() ||
              definition->isDependentContext() || definition->isInvalidDecl())
            continue;
          const bool asked = definition->getNameAsString() == function;
          const FunctionCode code(context, definition,
                                  asked ? lengths : std::map<std::string, std::string>());
          const bool macros = NamesInMacros(code);
          if (asked) refused = macros ? "a macro names the function's variables" : "";
          if (!macros) look(code, *definition, asked);
        }
      });
  return errors.empty() ? refused : errors;
}

// Rules that gain little themselves: what only they make possible is proposed along with them.
const std::set<std::string> kForms = {"a call in a variable",  "a function in its place",
                                      "a lambda by itself",    "counted from 0",
                                      "every bit's turn",      "factored out of a sum",
                                      "fields in variables",   "groups by the divisor",
                                      "guards by counters",    "guards joined",
                                      "plain loops",           "counted up",
                                      "run through by places", "without the copy",
                                      "declared where set",    "a condition in a variable"};
constexpr size_t kFormsMax = 8;  // of a program, that are looked at, and as many in a row
// Of these up to three come in a row: `while` in a C function with its variables at the top
// becomes a plain loop only then, and what helpers of helpers are given is read without the copy.
const std::set<std::string> kFormsInRow = {"a condition in a variable",
                                           "a function in its place",
                                           "counted up",
                                           "declared where set",
                                           "plain loops",
                                           "run through by places",
                                           "without the copy"};
constexpr int kFormsInRowMax = 3;
// Lambdas by themselves, helpers of helpers in their place, plain loops, and one loop at a time
// counted up.
constexpr int kFormRounds = 8;

// The last of several rules.
std::string LastRule(const std::string& rule) {
  const size_t last = rule.rfind(", then ");
  return last == std::string::npos ? rule : rule.substr(last + 7);
}

// Whether a rule saves work instead of doing it otherwise: what comes first, as it may gain most,
// and of a program that takes long few others are measured at all.
bool SavesWork(const std::string& rule) {
  static const auto* const known = new std::set<std::string>{
      "a loop done once for each", "a part done once for each", "a table over values",
      "a window by columns",       "computed once for each",    "computed once for each element",
      "counted in order",          "moved before the loop",     "only what matches",
      "sums from the beginning",   "sums moved along",          "without the copy"};
  return known->count(LastRule(rule)) > 0;
}

// Whether a rule, the last one of several, only hints something to the compiler, or does what
// another one does with another number: what comes last, as it is the least likely to gain much.
bool IsHintOrNumber(const std::string& rule) {
  const std::string name = LastRule(rule);
  for (const char* each :
       {"16 accumulators", "32 accumulators", "64 accumulators", "16 turns side by side",
        "4 turns in a group", "16 turns in a group", "8 turns by a pragma",
        "independent turns by a pragma", "arrays that do not overlap", "no traps", "unrolled loops",
        "optimized less"})
    if (name.rfind(each, 0) == 0) return true;
  return false;
}

// What the rules make of the program, one change each, but for those that are not `wanted`.
Rewrites RewriteOnce(const std::vector<std::string>& flags, const std::string& pch,
                     const std::string& function, const std::string& source,
                     const std::map<std::string, std::string>& lengths,
                     const std::function<bool(const std::string& rule)>& wanted,
                     std::string* refused) {
  Rewrites found;
  NumberCalls number_calls;
  const auto rewrite = [&](const FunctionCode& code, const clang::FunctionDecl& definition,
                           bool asked) {
    RewriteFunction(code, definition, wanted, &found);
    // What is made of a template has its text in common with others.
    if (!definition.isTemplateInstantiation()) number_calls.Add(code);
    if (!asked) return;
    number_calls.ProposeVectors(code, &found);
    ArraysApart(code, &found);
    OptimizeByPragma(code, number_calls, &found);
  };
  *refused = ForEachFunction(flags, pch, function, source, lengths, rewrite);
  return refused->empty() ? found : Rewrites();
}

}  // namespace

Rewrites RewriteProgram(const std::vector<std::string>& flags, const std::string& pch,
                        const std::string& function, const std::string& source,
                        std::string* refused, const std::map<std::string, std::string>& lengths) {
  const auto any = [](const std::string&) { return true; };
  Rewrites found = RewriteOnce(flags, pch, function, source, lengths, any, refused);
  std::set<std::string> rules;
  for (const Rewrite& each : found) rules.insert(each.rule);
  Rewrites further;
  struct Form {
    Rewrite rewrite;
    int in_row = 1;
  };
  std::vector<Form> forms;
  for (const Rewrite& each : found)
    if (kForms.count(each.rule) > 0 && forms.size() < kFormsMax) forms.push_back({each});
  const auto is_new = [&](const std::string& rule) {
    return rules.count(rule) == 0 || kFormsInRow.count(rule) > 0;
  };
  std::set<std::string> made = {source};
  for (size_t i = 0; i < forms.size(); ++i) {
    const Form form = forms[i];  // the list grows
    if (!made.insert(form.rewrite.source).second) continue;
    std::string form_refused;
    for (Rewrite& each :
         RewriteOnce(flags, pch, function, form.rewrite.source, lengths, is_new, &form_refused)) {
      const std::string rule = form.rewrite.rule + ", then " + each.rule;
      if (kFormsInRow.count(each.rule) > 0 && kFormsInRow.count(LastRule(form.rewrite.rule)) > 0 &&
          form.in_row < kFormsInRowMax && forms.size() < 2 * kFormsMax)
        forms.push_back({{rule, each.source}, form.in_row + 1});
      if (rules.count(each.rule) == 0) further.push_back({rule, std::move(each.source)});
    }
  }
  found.insert(found.end(), std::make_move_iterator(further.begin()),
               std::make_move_iterator(further.end()));
  std::set<std::string> seen = {source};
  std::erase_if(found, [&](const Rewrite& each) { return !seen.insert(each.source).second; });
  std::stable_partition(found.begin(), found.end(),
                        [](const Rewrite& each) { return !IsHintOrNumber(each.rule); });
  std::stable_partition(found.begin(), found.end(),
                        [](const Rewrite& each) { return SavesWork(each.rule); });
  return found;
}

Extents ExtentsOfProgram(const std::vector<std::string>& flags, const std::string& pch,
                         const std::string& function, const std::string& source,
                         std::string* refused) {
  Extents extents;
  std::string form = source, before = source;
  bool lambdas_apart = true;
  for (int round = 0; round < kFormRounds; ++round) {
    Extents found;
    std::string next;
    const auto look = [&](const FunctionCode& code, const clang::FunctionDecl&, bool asked) {
      if (!asked) return;
      found = ExtentsOf(code);
      Rewrites rewrites;
      if (lambdas_apart) LambdasApart(code, &rewrites);
      if (rewrites.empty()) InlineCalls(code, &rewrites);
      if (rewrites.empty()) PlainLoops(code, &rewrites);
      if (rewrites.empty()) CountUp(code, &rewrites);
      if (!rewrites.empty()) next = rewrites[0].source;
    };
    const std::string why = ForEachFunction(flags, pch, function, form, {}, look);
    if (round == 0) *refused = why;
    if (!why.empty() && round > 0 && lambdas_apart) {
      lambdas_apart = false;  // What they became does not compile.
      form = before;
      continue;
    }
    extents.arrays.merge(found.arrays);
    extents.sizes.merge(found.sizes);
    if (!why.empty() || next.empty()) break;
    before = std::exchange(form, next);
  }
  return extents;
}

}  // namespace whetstone
