#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
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
  const bool divides = binary != nullptr && (binary->getOpcode() == clang::BO_Div ||
                                             binary->getOpcode() == clang::BO_Rem);
  return llvm::isa<clang::CallExpr>(stmt) || AsAssignment(stmt) ||
         (divides && binary->getType()->isIntegerType() &&
          code.Constant(binary->getRHS()).value_or(0) <= 0);
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

// A turn that takes what fits: guards, and then out[m++] = v or the like.
struct Compaction {
  std::vector<const clang::Stmt*> declared;
  std::vector<const clang::Expr*> behind_guards;  // what is declared behind a guard
  std::vector<const clang::IfStmt*> guards;  // those that only continue, and one around the rest
  std::vector<const clang::Stmt*> statements;
};

// Whether a declaration only computes numbers.
bool AddDeclared(const FunctionCode& code, const clang::DeclStmt* stmt, Compaction* compaction) {
  compaction->declared.push_back(stmt);
  for (const clang::Decl* decl : stmt->decls()) {
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (variable == nullptr || variable->getInit() == nullptr || variable->isStaticLocal() ||
        !OnlyComputes(code, variable->getInit()))
      return false;
    if (!compaction->guards.empty()) compaction->behind_guards.push_back(variable->getInit());
  }
  return true;
}

// Whether one of the statements writes at a place that they count.
bool PutsAtTheEnd(const std::vector<const clang::Stmt*>& statements) {
  Variables changed;
  for (const clang::Stmt* stmt : statements) changed.merge(ChangedOutside(stmt));
  for (const clang::Stmt* stmt : statements) {
    for (const clang::Stmt* each : Below(stmt)) {
      const std::optional<Assignment> put = AsAssignment(each);
      const auto* element =
          put ? dyn_cast<clang::ArraySubscriptExpr>(put->target->IgnoreParens()) : nullptr;
      if (element != nullptr && Share(Used(element->getIdx()), changed)) return true;
    }
  }
  return false;
}

std::optional<Compaction> CompactionIn(const FunctionCode& code, const Loop& loop) {
  Compaction compaction;
  for (const clang::Stmt* stmt : loop.body) {
    const clang::IfStmt* guard = AsGuard(stmt);
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    const bool continues = guard != nullptr && OnlyContinues(guard->getThen());
    const bool around = guard != nullptr && !continues && stmt == loop.body.back();
    if (!compaction.statements.empty() || (guard == nullptr && declaration == nullptr)) {
      compaction.statements.push_back(stmt);
    } else if (declaration != nullptr) {
      if (!AddDeclared(code, declaration, &compaction)) return std::nullopt;
    } else if (continues || around) {
      compaction.guards.push_back(guard);
      if (around) compaction.statements = StatementsOf(guard->getThen());
    } else {
      return std::nullopt;
    }
  }
  if (compaction.guards.empty() || !PutsAtTheEnd(compaction.statements)) return std::nullopt;
  // No turn's guards need what another one did.
  Variables changed;
  for (const clang::Stmt* stmt : compaction.statements) {
    changed.merge(Varying(stmt));
    if (HasOwn<clang::BreakStmt>(stmt) || Has<clang::LabelStmt, clang::GotoStmt>(stmt))
      return std::nullopt;
  }
  for (const clang::IfStmt* guard : compaction.guards)
    if (Share(Used(guard->getCond()), changed) || !OnlyComputes(code, guard->getCond()))
      return std::nullopt;
  for (const clang::Stmt* declared : compaction.declared)
    if (Share(Used(declared), changed)) return std::nullopt;
  std::vector<const clang::Expr*> looked_at = {compaction.guards[0]->getCond()};
  looked_at.insert(looked_at.end(), compaction.behind_guards.begin(),
                   compaction.behind_guards.end());
  if (!MayAllBeLookedAt(code, looked_at)) return std::nullopt;
  for (const clang::IfStmt* guard : compaction.guards)
    if (!compaction.behind_guards.empty() && ComparesCounter(code, guard->getCond()))
      return std::nullopt;
  return compaction;
}

// What all guards say of a turn that fits, without branches where they may all be looked at.
std::string FitsOf(const FunctionCode& code, const Compaction& compaction) {
  std::vector<const clang::Expr*> conditions;
  for (const clang::IfStmt* guard : compaction.guards) conditions.push_back(guard->getCond());
  const bool all = MayAllBeLookedAt(code, conditions);
  std::string fits;
  for (const clang::IfStmt* guard : compaction.guards) {
    const clang::Expr* condition = guard->getCond();
    const bool is_bool = condition->IgnoreParenImpCasts()->getType()->isBooleanType();
    const std::string text =
        "(" + (all ? WithoutShortcut(code, condition) : code.Text(condition)) + ")";
    fits += fits.empty() ? "" : all ? " & " : " && ";
    fits += OnlyContinues(guard->getThen()) ? "!" + text : is_bool ? text : "(" + text + " != 0)";
  }
  return fits;
}

}  // namespace

void GatherFirst(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::optional<Compaction> compaction = CompactionIn(code, loop);
    if (!compaction || !HasKnownEnd(code, loop) ||
        code.context().getTypeSize(loop.var->getType()) < 32)
      continue;
    const std::string fit = code.Fresh({"fits", "is_taken", "wanted"});
    const std::string here = code.Fresh({"here", "taken_here"});
    const std::string from = code.Fresh({"from", "first_turn"});
    const std::string until = code.Fresh({"until", "last_turn"});
    const std::string turns = code.Fresh({"turns", "taken"});
    const std::string k = code.Fresh({"k", "each"});
    const std::string type = code.Type(loop.var);
    const std::string name = loop.var->getNameAsString();
    const std::string declared = code.Text(compaction->declared, {});
    const std::string gathered = "for (" + type + " " + name + " = " + from + "; " + name + " < " +
                                 until + "; " + name + "++) {\n" + declared + "const bool " + fit +
                                 " = " + FitsOf(code, *compaction) + ";\n" + turns + "[" + here +
                                 "] = " + name + ";\n" + here + " += " + fit + ";\n}\n";
    const std::string done = "for (int " + k + " = 0; " + k + " < " + here + "; " + k +
                             "++) {\nconst " + type + " " + name + " = " + turns + "[" + k +
                             "];\n" + declared + code.Text(compaction->statements, {}) + "}\n";
    rewrites->push_back(
        {"gathered first", code.Source({code.Instead(
                               loop.stmt, code.InParts(loop, 256, from, until,
                                                       type + " " + turns + "[256];\nint " + here +
                                                           " = 0;\n" + gathered + done))})});
  }
}

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
