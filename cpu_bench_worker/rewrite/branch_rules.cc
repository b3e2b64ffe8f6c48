#include "cpu_bench_worker/rewrite/conditions.h"
#include "cpu_bench_worker/rewrite/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

// The condition with all its parts looked at, whatever the first ones say: "(a == b) & (c < d)".
std::string WithoutShortcut(const FunctionCode& code, const clang::Expr* condition) {
  const auto* both = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (both == nullptr || !both->isLogicalOp()) return code.Text(condition);
  const auto part = [&](const clang::Expr* each) {
    const std::string text = WithoutShortcut(code, each);
    return each->IgnoreParenImpCasts()->getType()->isBooleanType() ? "(" + text + ")"
                                                                   : "((" + text + ") != 0)";
  };
  return part(both->getLHS()) + (both->getOpcode() == clang::BO_LAnd ? " & " : " | ") +
         part(both->getRHS());
}

// One way through a chain of ifs: what it counts, if anything.
struct Way {
  const clang::Expr* condition = nullptr;  // null: all others
  const clang::VarDecl* counted = nullptr;
};

// The counter that a branch adds one to; null with *nothing where the branch does nothing.
const clang::VarDecl* CountedIn(const clang::Stmt* branch, bool* nothing) {
  const std::vector<const clang::Stmt*> statements = StatementsOf(branch);
  *nothing = statements.empty() ||
             (statements.size() == 1 && llvm::isa<clang::ContinueStmt>(statements[0]));
  const std::optional<Assignment> counted =
      statements.size() == 1 ? AsAssignment(statements[0]) : std::nullopt;
  if (!counted || counted->value != nullptr || counted->kind != clang::BO_AddAssign) return nullptr;
  const clang::VarDecl* variable = NamedVariable(counted->target);
  return variable != nullptr && variable->getType()->isIntegerType() ? variable : nullptr;
}

// The ways of a chain whose branches only count; none, if there is only one, with a plain
// condition.
std::vector<Way> WaysOf(const clang::Stmt* stmt) {
  std::vector<Way> ways;
  const clang::IfStmt* chain = AsPlainIf(stmt);
  if (chain == nullptr) return {};
  for (const clang::Stmt* branch = stmt; branch != nullptr;) {
    const std::vector<const clang::Stmt*> alone = StatementsOf(branch);
    const clang::IfStmt* next = alone.size() == 1 ? AsPlainIf(alone[0]) : nullptr;
    bool nothing = false;
    const clang::Stmt* done = next == nullptr ? branch : next->getThen();
    const clang::VarDecl* counted = CountedIn(done, &nothing);
    if (counted == nullptr && !nothing) return {};
    ways.push_back({next == nullptr ? nullptr : next->getCond(), counted});
    branch = next == nullptr ? nullptr : next->getElse();
  }
  bool counts = false;
  for (const Way& way : ways) counts |= way.counted != nullptr;
  const auto* both = dyn_cast<clang::BinaryOperator>(chain->getCond()->IgnoreParenImpCasts());
  const bool plain = ways.size() == 1 && (both == nullptr || !both->isLogicalOp());
  return counts && !plain ? ways : std::vector<Way>{};
}

}  // namespace

void CountWithoutBranches(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    // Whatever stands before the chain only declares.
    const std::vector<Way> ways = loop.body.empty() ? std::vector<Way>{} : WaysOf(loop.body.back());
    bool plain = !ways.empty();
    for (const clang::Stmt* stmt : loop.body)
      plain = plain && (stmt == loop.body.back() || llvm::isa<clang::DeclStmt>(stmt));
    if (!plain) continue;
    std::map<const clang::VarDecl*, std::string> parts;
    std::string declared;
    std::string turn;
    std::string added;
    std::string others;  // none of the conditions so far
    for (const Way& way : ways) {
      const std::string number = std::to_string(&way - ways.data() + 1);
      std::string taken = others;
      if (way.condition != nullptr) {
        const std::string holds = code.Fresh({"holds" + number, "case" + number});
        turn += "const bool " + holds + " = " + WithoutShortcut(code, way.condition) + ";\n";
        taken += (taken.empty() ? "" : " & ") + holds;
        others += (others.empty() ? "!" : " & !") + holds;
      }
      if (way.counted == nullptr) continue;
      std::string& part = parts[way.counted];
      const std::string name = way.counted->getNameAsString();
      if (part.empty()) {
        part = code.Fresh({name + "_here", name + "_part"});
        declared += "int " + part + " = 0;\n";
        added += name + " += " + part + ";\n";
      }
      turn += part + " += " + taken + ";\n";
    }
    std::string before;
    for (const clang::Stmt* stmt : loop.body)
      if (stmt != loop.body.back()) before += code.Text(stmt) + "\n";
    added.pop_back();
    rewrites->push_back(
        {"counted without branches",
         code.Source({code.Instead(
             loop.stmt, declared + code.Head(loop) + " {\n" + before + turn + "}\n" + added)})});
  }
}

}  // namespace whetstone
