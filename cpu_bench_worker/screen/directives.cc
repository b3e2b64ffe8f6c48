#include "cpu_bench_worker/screen/directives.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "clang/Basic/IdentifierTable.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Token.h"
#include "cpu_bench_worker/screen/canonical.h"
#include "cpu_bench_worker/screen/conditions.h"

namespace whetstone {
namespace {

class Watcher final : public clang::PPCallbacks {
 public:
  Watcher(const clang::SourceManager* sources, const ScreenRules* rules, ScreenFindings* findings)
      : sources_(*sources), rules_(*rules), findings_(findings) {}

  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name,
                          bool angled, clang::CharSourceRange, clang::OptionalFileEntryRef,
                          llvm::StringRef, llvm::StringRef, const clang::Module*,
                          clang::SrcMgr::CharacteristicKind) override {
    if (!sources_.isInMainFile(hash)) return;
    const std::string header = name.str();
    const bool known =
        header == "cstddef" || header == "cstdint" ||
        std::find(rules_.headers.begin(), rules_.headers.end(), header) != rules_.headers.end();
    if (known && angled) return;
    std::string allowed;
    for (const std::string& h : rules_.headers) allowed += " <" + h + ">";
    Forbid(hash, "#include of '" + header + "' is not allowed; allowed are <cstddef> <cstdint>" +
                     allowed);
  }

  void PragmaDirective(clang::SourceLocation loc, clang::PragmaIntroducerKind kind) override {
    if (!sources_.isInMainFile(sources_.getExpansionLoc(loc))) return;
    if (kind != clang::PIK_HashPragma) {
      Forbid(loc, "_Pragma is not allowed; write #pragma");
      return;
    }
    const char* text = sources_.getCharacterData(loc);
    const std::string line(
        text, std::find_if(text, text + 400, [](char c) { return c == '\n' || c == '\0'; }));
    const size_t word = line.find("pragma");
    if (word == std::string::npos || line.find('\\') != std::string::npos) {
      Forbid(loc, "a pragma must stand on one line");
      return;
    }
    const std::string problem = PragmaProblem(line.substr(word + 6), rules_);
    if (!problem.empty()) Forbid(loc, problem);
    for (const std::string& name : IdentifiersOf(line.substr(word + 6)))
      if (name == "target") conditions_.ChangeTarget();
  }

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* macro) override {
    if (!sources_.isInMainFile(name.getLocation())) return;
    std::vector<std::string> identifiers;
    const auto parameters = macro->getMacroInfo()->params();
    for (const clang::Token& token : macro->getMacroInfo()->tokens()) {
      const clang::IdentifierInfo* const word = token.getIdentifierInfo();
      if (token.is(clang::tok::hashhash)) identifiers.push_back("##");  // It makes names of names.
      if (word == nullptr ||
          std::find(parameters.begin(), parameters.end(), word) != parameters.end())
        continue;
      identifiers.push_back(word->getName().str());
    }
    conditions_.Define(name.getIdentifierInfo()->getName().str(), std::move(identifiers));
  }

  void If(clang::SourceLocation loc, clang::SourceRange, ConditionValueKind) override {
    CheckCondition(loc);
  }
  void Elif(clang::SourceLocation loc, clang::SourceRange, ConditionValueKind,
            clang::SourceLocation) override {
    CheckCondition(loc);
  }
  void Ifdef(clang::SourceLocation loc, const clang::Token&,
             const clang::MacroDefinition&) override {
    CheckCondition(loc);
  }
  void Ifndef(clang::SourceLocation loc, const clang::Token&,
              const clang::MacroDefinition&) override {
    CheckCondition(loc);
  }

 private:
  // `loc` is that of the directive's name.
  void CheckCondition(clang::SourceLocation loc) {
    if (!sources_.isInMainFile(loc)) return;
    const char* const begin = sources_.getCharacterData(loc);
    const std::string line(begin, begin + std::strcspn(begin, "\n"));
    if (line.find('\\') != std::string::npos || line.find("/*") != std::string::npos) {
      Forbid(loc, "a condition must stand on one line, without comments");
      return;
    }
    if (!scanned_) {
      scanned_ = true;
      const std::string source = sources_.getBufferData(sources_.getMainFileID()).str();
      for (const std::string& name : MacrosOf(source)) conditions_.WillDefine(name);
    }
    std::vector<std::string> identifiers = IdentifiersOf(line);
    identifiers.erase(identifiers.begin());
    const std::string problem = conditions_.Problem(identifiers);
    if (!problem.empty()) Forbid(loc, problem);
  }

  void Forbid(clang::SourceLocation loc, const std::string& what) {
    findings_->forbidden.push_back("line " + std::to_string(sources_.getExpansionLineNumber(loc)) +
                                   ": " + what);
  }

  const clang::SourceManager& sources_;
  const ScreenRules& rules_;
  ScreenFindings* findings_;
  Conditions conditions_;
  bool scanned_ = false;  // what the program will define
};

}  // namespace

std::unique_ptr<clang::PPCallbacks> WatchDirectives(const clang::SourceManager* sources,
                                                    const ScreenRules* rules,
                                                    ScreenFindings* findings) {
  return std::make_unique<Watcher>(sources, rules, findings);
}

std::string PragmaProblem(const std::string& text, const ScreenRules& rules) {
  if (!rules.allows("pragma")) return "pragmas are not allowed in this problem";
  std::istringstream words(text);
  std::string space, name;
  words >> space >> name;
  // "optimize(" and "unroll(4)" stand without a space too.
  name = name.substr(0, name.find('('));
  static const std::set<std::string> kGcc = {
      "optimize", "ivdep", "unroll", "diagnostic", "push_options", "pop_options", "reset_options"};
  const std::string shown = "#pragma " + space + " " + name;
  if (space == "GCC") {
    if (kGcc.count(name) > 0) return "";
    if (name == "target")
      return rules.allows("target") ? "" : "#pragma GCC target is not allowed in this problem";
    return shown + " is not allowed";
  }
  if (space == "omp") {
    if (name == "simd" || name == "declare" || name == "ordered") return "";
    if (rules.allows("threads") && rules.threads > 1) return "";
    return shown + " needs threads, which this problem does not allow";
  }
  if (space == "once" || space == "STDC" || space == "clang" || space == "unroll" ||
      space == "nounroll" || space.rfind("unroll(", 0) == 0)
    return "";
  return shown + " is not allowed";
}

}  // namespace whetstone
