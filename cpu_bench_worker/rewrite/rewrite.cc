#include "cpu_bench_worker/rewrite/rewrite.h"

#include <set>

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

// Formats the function's body, of which `before` and `behind` bytes of the program are not a part.
std::string Formatted(const std::string& source, size_t before, size_t behind) {
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

}  // namespace

Rewrites RewriteProgram(const std::vector<std::string>& flags, const std::string& pch,
                        const std::string& function, const std::string& source,
                        std::string* refused) {
  Rewrites found;
  *refused = "no function '" + function + "' is defined at the program's top level";
  const std::string errors = WithProgram(
      flags, pch, source,
      [&](clang::ASTContext* context, const std::vector<clang::Decl*>& declarations) {
        for (const clang::Decl* decl : declarations) {
          const auto* definition = clang::dyn_cast<clang::FunctionDecl>(decl);
          if (definition == nullptr || definition->getNameAsString() != function ||
              !definition->doesThisDeclarationHaveABody())
            continue;
          const FunctionCode code(context, definition);
          *refused = NamesInMacros(code) ? "a macro names the function's variables" : "";
          if (!refused->empty()) return;
          for (const auto rule : {&ExchangeLoops,
                                  &RunTurnsSideBySide,
                                  &ClipBounds,
                                  &SplitInterior,
                                  &SeveralAccumulators,
                                  &KeepInVariable,
                                  &CountFromCounter,
                                  &FieldsInVariables,
                                  &RemaindersByComparison,
                                  &CutCircles,
                                  &CountRemainders,
                                  &MultiplyByInverse,
                                  &LookBack,
                                  &HoistCalls,
                                  &MultiplyPowers,
                                  &EndComputedOnce,
                                  &MoveSums,
                                  &SeveralTables,
                                  &StepByTable,
                                  &SelectWithoutBranch,
                                  &GoToTheValue,
                                  &EndEarly,
                                  &GoOnWhereItEnded,
                                  &TabulateBytes,
                                  &CountBits,
                                  &CountInOneStep})
            rule(code, &found);
          const size_t before = code.Begin(code.body());
          const size_t behind = source.size() - code.End(code.body());
          for (Rewrite& rewrite : found) rewrite.source = Formatted(rewrite.source, before, behind);
          return;
        }
      });
  if (!errors.empty()) *refused = errors;
  std::set<std::string> seen = {source};
  std::erase_if(found, [&](const Rewrite& each) { return !seen.insert(each.source).second; });
  return found;
}

}  // namespace whetstone
