#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

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

// Adds what a condition joins by && and ||.
void AddParts(const clang::Expr* condition, std::vector<const clang::Expr*>* parts) {
  const auto* both = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (both == nullptr || !both->isLogicalOp()) {
    parts->push_back(condition);
    return;
  }
  AddParts(both->getLHS(), parts);
  AddParts(both->getRHS(), parts);
}

// Whether an element's place is a loop's counter.
bool AtCounter(const FunctionCode& code, const clang::Stmt* element) {
  const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(element);
  const clang::VarDecl* index = subscript == nullptr ? nullptr : NamedVariable(subscript->getIdx());
  return index != nullptr && std::any_of(code.loops().begin(), code.loops().end(),
                                         [&](const Loop& loop) { return loop.var == index; });
}

bool ComparesCounter(const FunctionCode& code, const clang::Expr* condition) {
  return std::any_of(code.loops().begin(), code.loops().end(), [&](const Loop& loop) {
    return Mentions(condition, loop.var) > 0 && Used(condition).size() <= 2 &&
           !Has<clang::ArraySubscriptExpr>(condition);
  });
}

// Whether `stmt`, a part of a condition that is looked at only if others hold, may do harm if they
// don't: it divides, calls or changes, or reads what may not be there.
bool NeedsOthers(const FunctionCode& code, const clang::Stmt* stmt, bool counters,
                 const std::set<std::string>& read) {
  const auto* unary = dyn_cast<clang::UnaryOperator>(stmt);
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  const auto* member = dyn_cast<clang::MemberExpr>(stmt);
  const bool memory = llvm::isa<clang::ArraySubscriptExpr>(stmt) ||
                      (member != nullptr && member->isArrow()) ||
                      (unary != nullptr && unary->getOpcode() == clang::UO_Deref);
  if (memory) return read.count(code.Text(stmt)) == 0 && !(counters && AtCounter(code, stmt));
  return llvm::isa<clang::CallExpr>(stmt) || AsAssignment(stmt) ||
         (binary != nullptr &&
          (binary->getOpcode() == clang::BO_Div || binary->getOpcode() == clang::BO_Rem));
}

// Whether conditions may all be looked at, whatever the ones before them say.
bool MayAllBeLookedAt(const FunctionCode& code, const std::vector<const clang::Expr*>& conditions) {
  std::vector<const clang::Expr*> parts;
  for (const clang::Expr* condition : conditions) AddParts(condition, &parts);
  // Where no counter is compared, an element at its place is there in every turn.
  const bool counters = std::none_of(parts.begin(), parts.end(), [&](const clang::Expr* part) {
    return ComparesCounter(code, part);
  });
  std::set<std::string> read;
  for (const clang::Stmt* each : Below(parts[0])) read.insert(code.Text(each));
  for (size_t i = 1; i < parts.size(); ++i)
    for (const clang::Stmt* each : Below(parts[i]))
      if (NeedsOthers(code, each, counters, read)) return false;
  return true;
}

// One way through a chain of ifs: what it counts, if anything.
struct Way {
  const clang::Expr* condition = nullptr;  // null: all others
  const clang::VarDecl* counted = nullptr;
};

// The counter that a branch adds one to; null with *nothing where the branch does nothing.
const clang::VarDecl* CountedIn(const FunctionCode& code, const clang::Stmt* branch,
                                bool* nothing) {
  const std::vector<const clang::Stmt*> statements = StatementsOf(branch);
  *nothing = statements.empty() || OnlyContinues(branch);
  const std::optional<Assignment> counted =
      statements.size() == 1 ? AsAssignment(statements[0]) : std::nullopt;
  const bool one = counted && (counted->value == nullptr || code.Constant(counted->value) == 1);
  if (!one || counted->kind != clang::BO_AddAssign) return nullptr;
  const clang::VarDecl* variable = NamedVariable(counted->target);
  return variable != nullptr && variable->getType()->isIntegerType() ? variable : nullptr;
}

// The ways of a chain whose branches only count; none, if there is only one, with a plain
// condition.
std::vector<Way> WaysOf(const FunctionCode& code, const clang::Stmt* stmt) {
  std::vector<Way> ways;
  const clang::IfStmt* chain = AsPlainIf(stmt);
  if (chain == nullptr) return {};
  for (const clang::Stmt* branch = stmt; branch != nullptr;) {
    const std::vector<const clang::Stmt*> alone = StatementsOf(branch);
    const clang::IfStmt* next = alone.size() == 1 ? AsPlainIf(alone[0]) : nullptr;
    bool nothing = false;
    const clang::Stmt* done = next == nullptr ? branch : next->getThen();
    const clang::VarDecl* counted = CountedIn(code, done, &nothing);
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

// Whether the loop's turns need nothing of what they count, and it lives on behind them.
bool OnlyCounted(const FunctionCode& code, const Loop& loop, const std::vector<Way>& ways) {
  const Variables declared = Declared(loop.stmt);
  std::map<const clang::VarDecl*, int> counted;
  for (const Way& way : ways)
    if (way.counted != nullptr) ++counted[way.counted];
  for (const auto& [variable, times] : counted)
    if (declared.count(variable) > 0 || Mentions(loop.stmt, variable) != times ||
        code.context().getTypeSize(variable->getType()) < 32)
      return false;
  return true;
}

}  // namespace

void CountWithoutBranches(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    // Whatever stands before the chain only declares.
    const std::vector<Way> ways =
        loop.body.empty() ? std::vector<Way>{} : WaysOf(code, loop.body.back());
    bool plain = !ways.empty();
    for (const clang::Stmt* stmt : loop.body)
      plain = plain && (stmt == loop.body.back() || llvm::isa<clang::DeclStmt>(stmt));
    std::vector<const clang::Expr*> conditions;
    for (const Way& way : ways)
      if (way.condition != nullptr) conditions.push_back(way.condition);
    if (!plain || !OnlyCounted(code, loop, ways) || !MayAllBeLookedAt(code, conditions)) continue;
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
        // No loop has more turns than that.
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

void ChooseThePlace(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::IfStmt* branch = AsPlainIf(stmt);
    const std::vector<const clang::Stmt*> then =
        branch == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(branch->getThen());
    const std::vector<const clang::Stmt*> other =
        branch == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(branch->getElse());
    if (then.size() != 1 || other.size() != 1) continue;
    const std::optional<Assignment> one = AsAssignment(then[0]);
    const std::optional<Assignment> two = AsAssignment(other[0]);
    if (!one || !two || one->kind != two->kind) continue;
    const auto* place = dyn_cast<clang::ArraySubscriptExpr>(one->target->IgnoreParens());
    const auto* second = dyn_cast<clang::ArraySubscriptExpr>(two->target->IgnoreParens());
    const auto text = [&](const clang::Expr* value) { return value ? code.Text(value) : ""; };
    if (place == nullptr || second == nullptr ||
        code.Text(place->getBase()) != code.Text(second->getBase()) ||
        text(one->value) != text(two->value) ||
        code.Text(place->getIdx()) == code.Text(second->getIdx()))
      continue;
    const std::string chosen = code.Operand(branch->getCond()) + " ? " +
                               code.Operand(place->getIdx()) + " : " +
                               code.Operand(second->getIdx());
    rewrites->push_back({"the place chosen",
                         code.Source({code.Instead(
                             stmt, code.Text(then[0], {{code.Begin(place->getIdx()),
                                                        code.End(place->getIdx()), chosen}}))})});
  }
}

}  // namespace whetstone
