#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/conditions.h"
#include "cpu_bench_worker/rewrite/math_calls.h"
#include "cpu_bench_worker/rewrite/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr int64_t kTableMax = 4096;  // of a table on the stack
constexpr int64_t kUnusedMax = 8;    // entries before the counter's first value
constexpr int kDepthMax = 8;         // of variables that are made of other variables
constexpr size_t kCountersMax = 2;

using Texts = std::map<const clang::VarDecl*, std::string>;

// Whether evaluating an expression does nothing but compute its value.
bool OnlyComputes(const FunctionCode& code, const clang::Expr* expression) {
  if (Has<clang::LambdaExpr, clang::CXXNewExpr>(expression) || !Changed(expression).empty())
    return false;
  for (const clang::Stmt* each : Below(expression)) {
    const auto* binary = dyn_cast<clang::BinaryOperator>(each);
    const auto* unary = dyn_cast<clang::UnaryOperator>(each);
    const bool changes = (binary != nullptr && binary->isAssignmentOp()) ||
                         (unary != nullptr && unary->isIncrementDecrementOp());
    if (changes || (isa<clang::CallExpr>(each) && AsMathCall(code, each) == nullptr)) return false;
  }
  return true;
}

// Adds the variable whose elements or fields are assigned to, and those that it points into.
void AddWritten(const clang::Expr* target, Variables* written) {
  const clang::Expr* base = target->IgnoreParenCasts();
  while (true) {
    const clang::Expr* within = nullptr;
    if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(base))
      within = element->getBase();
    else if (const auto* field = dyn_cast<clang::MemberExpr>(base))
      within = field->getBase();
    else if (const auto* pointed = dyn_cast<clang::UnaryOperator>(base))
      within = pointed->getSubExpr();
    else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(base))
      within = call->getArg(0);
    if (within == nullptr) break;
    base = within->IgnoreParenCasts();
  }
  const clang::Expr* whole = target->IgnoreParenCasts();
  for (const clang::VarDecl* variable : Used(base)) {
    const clang::QualType type = variable->getType();
    const bool pointer = type->isPointerType();
    // What a pointer is moved by is not written to.
    if (NamedVariable(base) == nullptr && !pointer && !type->isArrayType()) continue;
    const bool refers = type->isReferenceType() || (pointer && NamedVariable(whole) == nullptr);
    const bool new_one = written->insert(variable).second;
    if (new_one && refers && variable->getInit() != nullptr)
      AddWritten(variable->getInit(), written);
  }
}

// Adds what a call may write to through pointers and references.
void AddWrittenBy(const clang::CallExpr* call, Variables* written) {
  if (const auto* assigned = dyn_cast<clang::CXXOperatorCallExpr>(call)) {
    if (assigned->isAssignmentOp()) AddWritten(assigned->getArg(0), written);
    return;
  }
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call))
    if (const clang::CXXMethodDecl* method = member->getMethodDecl();
        method != nullptr && !method->isConst())
      AddWritten(member->getImplicitObjectArgument(), written);
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    const bool known = callee != nullptr && i < callee->getNumParams();
    const clang::QualType type =
        known ? callee->getParamDecl(i)->getType() : call->getArg(i)->getType();
    const clang::QualType target = type->getPointeeType();
    if (!target.isNull() && !target.isConstQualified()) AddWritten(call->getArg(i), written);
  }
}

// The variables whose elements or fields are written below `stmt`.
Variables Written(const clang::Stmt* stmt) {
  Variables written;
  for (const clang::Stmt* each : Below(stmt)) {
    if (const std::optional<Assignment> assignment = AsAssignment(each))
      AddWritten(assignment->target, &written);
    if (const auto* call = dyn_cast<clang::CallExpr>(each)) AddWrittenBy(call, &written);
  }
  return written;
}

// Whether no operator around an expression takes it apart.
bool IsAtom(const clang::Expr* expression) {
  return isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::FloatingLiteral, clang::ParenExpr,
             clang::ArraySubscriptExpr, clang::MemberExpr, clang::CallExpr, clang::CXXNamedCastExpr,
             clang::CXXFunctionalCastExpr>(expression->IgnoreImplicit());
}

// Whether numbers of a type keep the step between each other when they become those of the other.
bool KeepsSteps(const FunctionCode& code, clang::QualType from, clang::QualType to) {
  if (!from->isArithmeticType() || !to->isArithmeticType() || to->isBooleanType()) return false;
  if (to->isRealFloatingType()) return true;
  return from->isIntegerType() &&
         code.context().getTypeSize(to) >= code.context().getTypeSize(code.context().IntTy);
}

std::string Negated(const std::string& value) {
  return value[0] == '-' ? "-(" + value + ")" : "-" + value;
}

// What a loop computes, as it can be computed before the loop: local variables by what they are
// made of.
class BeforeLoop {
 public:
  BeforeLoop(const FunctionCode& code, const clang::Stmt* loop)
      : code_(code), loop_(loop), changed_(Changed(loop)), declared_(Declared(loop)) {
    changed_.merge(Written(loop));
  }
  const clang::Stmt* loop() const { return loop_; }

  // The variables of the loop that the expression depends on in the end; nothing if it does more
  // than compute.
  std::optional<Variables> Needs(const clang::Expr* expression, int depth = kDepthMax) const {
    if (depth == 0 || !OnlyComputes(code_, expression)) return std::nullopt;
    Variables found;
    for (const clang::VarDecl* variable : Used(expression)) {
      if (changed_.count(variable) == 0 && declared_.count(variable) == 0) continue;
      const clang::Expr* value = ValueOf(variable);
      if (value == nullptr) {
        found.insert(variable);
        continue;
      }
      std::optional<Variables> inner = Needs(value, depth - 1);
      if (!inner) return std::nullopt;
      found.merge(*inner);
    }
    return found;
  }
  bool NeedsNothing(const clang::Expr* expression) const {
    const std::optional<Variables> needed = Needs(expression);
    return needed && needed->empty();
  }

  // An expression of known needs, with `counters` for the variables named there.
  std::string Text(const clang::Expr* expression, const Texts& counters) const {
    Edits edits;
    for (const clang::Stmt* each : Below(expression)) {
      const auto* name = dyn_cast<clang::DeclRefExpr>(each);
      const clang::VarDecl* variable = name == nullptr ? nullptr : NamedVariable(name);
      if (variable == nullptr) continue;
      const auto counter = counters.find(variable);
      const clang::Expr* value = ValueOf(variable);
      if (counter == counters.end() && value == nullptr) continue;
      edits.push_back(
          {code_.Begin(each), code_.Begin(each) + variable->getName().size(),
           counter != counters.end() ? counter->second : Converted(variable, value, counters)});
    }
    return code_.Text(expression, edits);
  }
  // The same in parentheses, if it needs them.
  std::string Operand(const clang::Expr* expression, const Texts& counters) const {
    const std::string text = Text(expression, counters);
    return IsAtom(expression) ? text : "(" + text + ")";
  }
  // The loop's head, of a loop within.
  std::string Head(const Loop& loop) const {
    const std::string name = loop.var->getNameAsString();
    return "for (" + code_.Type(loop.var) + " " + name + " = " + Text(loop.first, {}) + "; " +
           name + (loop.inclusive ? " <= " : " < ") + Text(loop.last, {}) + "; " + name + "++)";
  }

  // What an expression grows by whenever the counter does by one, computed in double. Nothing if
  // that differs from turn to turn.
  std::optional<std::string> Step(const clang::Expr* expression,
                                  const clang::VarDecl* counter) const {
    return Part(expression, counter, true);
  }
  // Its value where the counter is 0, if its step is known; empty for 0.
  std::string AtZero(const clang::Expr* expression, const clang::VarDecl* counter) const {
    return Part(expression, counter, false).value_or("");
  }

 private:
  // What a variable of the loop is made of, if that is all it ever is; null: it is not so.
  const clang::Expr* ValueOf(const clang::VarDecl* variable) const {
    if (declared_.count(variable) == 0 || changed_.count(variable) > 0 ||
        variable->isStaticLocal() || variable->isCXXForRangeDecl() ||
        variable->getInit() == nullptr)
      return nullptr;
    const clang::Expr* value = variable->getInit()->IgnoreImplicit();
    if (const auto* made = dyn_cast<clang::CXXConstructExpr>(value)) {
      // A copy.
      if (made->getNumArgs() != 1 || !made->getConstructor()->isCopyOrMoveConstructor())
        return nullptr;
      value = made->getArg(0)->IgnoreImplicit();
    }
    return isa<clang::InitListExpr>(value) ? nullptr : value;
  }
  std::string Converted(const clang::VarDecl* variable, const clang::Expr* value,
                        const Texts& counters) const {
    const std::string text = Operand(value, counters);
    const clang::QualType type = variable->getType();
    const bool same =
        !type->isArithmeticType() || code_.context().hasSameUnqualifiedType(type, value->getType());
    return same ? text : "((" + code_.Type(variable) + ")" + text + ")";
  }
  // The expression as a factor, the first of a product or not.
  std::string Factor(const clang::Expr* expression, bool leads) const {
    const clang::Expr* bare = expression->IgnoreImplicit();
    const auto* product = dyn_cast<clang::BinaryOperator>(bare);
    const bool joins = leads && product != nullptr && product->isMultiplicativeOp() &&
                       product->getType()->isRealFloatingType();
    return joins || isa<clang::UnaryOperator>(bare) ? Text(expression, {})
                                                    : Operand(expression, {});
  }
  // Of an expression a + b * counter: b (`step`) or a; empty for 0. Nothing if it is anything else.
  std::optional<std::string> Part(const clang::Expr* expression, const clang::VarDecl* counter,
                                  bool step) const {
    const std::optional<Variables> needed = Needs(expression);
    if (!needed) return std::nullopt;
    if (needed->count(counter) == 0) return step ? "" : Operand(expression, {});
    const clang::Expr* bare = expression->IgnoreParens();
    if (const auto* cast = dyn_cast<clang::CastExpr>(bare)) {
      const clang::Expr* from = cast->getSubExpr();
      if (!KeepsSteps(code_, from->getType(), cast->getType())) return std::nullopt;
      return Part(from, counter, step);
    }
    if (const clang::VarDecl* variable = NamedVariable(bare)) {
      const clang::Expr* value = ValueOf(variable);
      if (variable == counter) return step ? "1.0" : "";
      if (value == nullptr ||
          !KeepsSteps(code_, value->getType(), variable->getType().getNonReferenceType()))
        return std::nullopt;
      return Part(value, counter, step);
    }
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(bare)) {
      const std::optional<std::string> part = Part(unary->getSubExpr(), counter, step);
      if (!part || unary->getOpcode() == clang::UO_Plus) return part;
      if (unary->getOpcode() != clang::UO_Minus) return std::nullopt;
      return part->empty() ? "" : Negated(*part);
    }
    const auto* binary = dyn_cast<clang::BinaryOperator>(bare);
    if (binary == nullptr) return std::nullopt;
    return binary->isAdditiveOp() ? PartOfSum(*binary, counter, step)
                                  : PartOfProduct(*binary, counter, step);
  }
  std::optional<std::string> PartOfSum(const clang::BinaryOperator& sum,
                                       const clang::VarDecl* counter, bool step) const {
    const std::optional<std::string> left = Part(sum.getLHS(), counter, step);
    const std::optional<std::string> right = Part(sum.getRHS(), counter, step);
    if (!left || !right) return std::nullopt;
    const bool difference = sum.getOpcode() == clang::BO_Sub;
    if (right->empty()) return left;
    if (left->empty()) return difference ? Negated(*right) : *right;
    return "(" + *left + (difference ? " - " : " + ") + *right + ")";
  }
  std::optional<std::string> PartOfProduct(const clang::BinaryOperator& product,
                                           const clang::VarDecl* counter, bool step) const {
    const bool divides = product.getOpcode() == clang::BO_Div;
    if (product.getOpcode() != clang::BO_Mul && !divides) return std::nullopt;
    const bool left = Needs(product.getLHS())->count(counter) > 0;
    const bool right = Needs(product.getRHS())->count(counter) > 0;
    if ((left && right) || (divides && (right || product.getType()->isIntegerType())))
      return std::nullopt;
    const clang::Expr* other = left ? product.getRHS() : product.getLHS();
    const std::optional<std::string> part =
        Part(left ? product.getLHS() : product.getRHS(), counter, step);
    if (!part || part->empty()) return part;
    const std::string factor = Factor(other, !left);
    if (divides) return *part + " / " + factor;
    const bool one = *part == "1.0" || part->compare(0, 4, "1.0 ") == 0;
    if (one && FloatingType(other->getType()) == "double") return factor + part->substr(3);
    return left ? *part + " * " + factor : factor + " * " + *part;
  }

  const FunctionCode& code_;
  const clang::Stmt* loop_;
  Variables changed_;
  Variables declared_;
};

// A table with an entry for each turn of a loop, or of one in another.
struct Entries {
  bool known = false;  // how many, when it is compiled
  std::string size;
  std::string index;  // of a turn
};

// "i - 2" for a loop that begins with 2.
std::string From(const std::string& name, int64_t first) {
  if (first == 0) return name;
  return name + (first < 0 ? " + " + std::to_string(-first) : " - " + std::to_string(first));
}

// How many turns the loop has, if the compiler knows it.
std::optional<int64_t> TurnsOf(const FunctionCode& code, const Loop& loop) {
  const std::optional<int64_t> first = code.Constant(loop.first);
  const std::optional<int64_t> last = code.Constant(loop.last);
  if (!first || !last) return std::nullopt;
  const int64_t turns = *last - *first + (loop.inclusive ? 1 : 0);
  return turns > 0 && turns <= kTableMax ? std::optional(turns) : std::nullopt;
}

std::optional<Entries> KnownEntries(const FunctionCode& code,
                                    const std::vector<const Loop*>& loops) {
  Entries entries{.known = true, .size = "", .index = ""};
  int64_t size = 1;
  for (const Loop* loop : loops) {
    const std::optional<int64_t> turns = TurnsOf(code, *loop);
    if (!turns) return std::nullopt;
    size *= *turns;
    const std::string place = From(loop->var->getNameAsString(), *code.Constant(loop->first));
    const bool sum = entries.index.find(' ') != std::string::npos;
    const std::string row = sum ? "(" + entries.index + ")" : entries.index;
    entries.index = row.empty() ? place : row + " * " + std::to_string(*turns) + " + " + place;
  }
  entries.size = std::to_string(size);
  return size <= kTableMax ? std::optional(entries) : std::nullopt;
}

// The entries for these loops' turns, outer loops first; nothing if they are too many, or not known
// before the loop that they are in.
std::optional<Entries> EntriesOf(const FunctionCode& code, const BeforeLoop& before,
                                 const std::vector<const Loop*>& loops) {
  for (const Loop* loop : loops)
    if (!before.NeedsNothing(loop->first) || !before.NeedsNothing(loop->last)) return std::nullopt;
  if (const std::optional<Entries> known = KnownEntries(code, loops)) return known;
  if (loops.size() != 1) return std::nullopt;
  const Loop& loop = *loops[0];
  const std::string name = loop.var->getNameAsString();
  const std::string end = before.Operand(loop.last, {}) + (loop.inclusive ? " + 1" : "");
  // The entries before a small first value stay unused.
  const std::optional<int64_t> first = code.Constant(loop.first);
  if (first && *first >= 0 && *first <= kUnusedMax)
    return Entries{.known = false, .size = end, .index = name};
  const std::string start = before.Operand(loop.first, {});
  return Entries{.known = false, .size = end + " - " + start, .index = name + " - " + start};
}

// A name that the program does not use.
std::string NameOf(const FunctionCode& code, const std::string& name, const std::string& suffix) {
  return code.Fresh({name + suffix, name + "_of" + suffix});
}

// A table's declaration. One of unknown size is new and deleted: that needs no header, unlike a
// vector.
std::string TableOf(const std::string& type, const std::string& name, const Entries& entries) {
  return entries.known ? type + " " + name + "[" + entries.size + "];\n"
                       : type + "* const " + name + " = new " + type + "[" + entries.size + "];\n";
}

std::string Deleted(const std::string& name, const Entries& entries) {
  return entries.known ? "" : "\ndelete[] " + name + ";";
}

// Whether the loop may be left without what stands behind it.
bool LeavesFunction(const clang::Stmt* loop) {
  return Has<clang::ReturnStmt, clang::GotoStmt, clang::CXXThrowExpr>(loop);
}

// Whether a part of the expression takes many times as long as a product.
bool IsExpensive(const FunctionCode& code, const clang::Expr* expression) {
  for (const clang::Stmt* each : Below(expression)) {
    const clang::CallExpr* call = AsMathCall(code, each);
    if (call != nullptr && !ExpensiveName(call).empty()) return true;
    const auto* division = dyn_cast<clang::BinaryOperator>(each);
    clang::Expr::EvalResult value;
    if (division != nullptr &&
        (division->getOpcode() == clang::BO_Div || division->getOpcode() == clang::BO_Rem) &&
        !division->getRHS()->isValueDependent() &&
        !division->getRHS()->EvaluateAsRValue(value, code.context()))
      return true;
  }
  return false;
}

// An expression that depends on nothing but counters of loops within a loop.
struct OfCounters {
  const clang::Expr* expression = nullptr;
  Variables counters;
  std::vector<const Loop*> loops;  // theirs, outer ones first
};

std::optional<OfCounters> AsOfCounters(const FunctionCode& code, const BeforeLoop& before,
                                       const clang::Stmt* stmt) {
  const auto* expression = dyn_cast<clang::Expr>(stmt);
  if (expression == nullptr || expression != expression->IgnoreParenImpCasts() ||
      !expression->getType()->isArithmeticType() || expression->getBeginLoc().isMacroID() ||
      !IsExpensive(code, expression))
    return std::nullopt;
  const std::optional<Variables> needed = before.Needs(expression);
  if (!needed || needed->empty() || needed->size() > kCountersMax) return std::nullopt;
  OfCounters found{expression, *needed, {}};
  for (const Loop& loop : code.loops())
    if (loop.stmt != before.loop() && needed->count(loop.var) > 0) found.loops.push_back(&loop);
  return found.loops.size() == needed->size() ? std::optional(found) : std::nullopt;
}

// The edits that take all that computes the same as the expression from the table.
Edits TakenFromTable(const FunctionCode& code, const BeforeLoop& before, const OfCounters& found,
                     const std::string& entry) {
  const std::string text = before.Text(found.expression, {});
  Edits edits;
  for (const clang::Stmt* each : Below(found.loops[0]->stmt->getBody())) {
    if (each->getStmtClass() != found.expression->getStmtClass()) continue;
    const std::optional<OfCounters> other = AsOfCounters(code, before, each);
    if (other && other->counters == found.counters && before.Text(other->expression, {}) == text)
      edits.push_back(code.Instead(each, entry));
  }
  return edits;
}

// A table of such an expression.
struct Table {
  OfCounters values;
  Entries entries;
};

// Makes these tables before the loop.
void AddTables(const FunctionCode& code, const BeforeLoop& before, const std::vector<Table>& tables,
               Rewrites* rewrites) {
  std::string declared;
  std::string filled;
  std::string deleted;
  std::string lines;
  Edits edits;
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto& [values, entries] = tables[i];
    const std::string name = NameOf(code, "table", i == 0 ? "" : std::to_string(i + 1));
    const std::string entry = name + "[" + entries.index + "]";
    declared += TableOf(code.Type(values.expression), name, entries);
    deleted += Deleted(name, entries);
    lines += entry + " = " + before.Text(values.expression, {}) + ";\n";
    for (const Edit& edit : TakenFromTable(code, before, values, entry)) edits.push_back(edit);
    // Tables for the turns of the same loops are filled together.
    if (i + 1 < tables.size() && tables[i + 1].values.loops == values.loops) continue;
    for (auto loop = values.loops.rbegin(); loop != values.loops.rend(); ++loop)
      lines = before.Head(**loop) + " {\n" + lines + "}\n";
    filled += std::exchange(lines, "");
  }
  // What is a part of something else in a table is not looked up itself.
  Edits outer;
  for (const Edit& edit : edits)
    if (std::none_of(edits.begin(), edits.end(), [&](const Edit& other) {
          return other.begin <= edit.begin && other.end >= edit.end &&
                 other.end - other.begin > edit.end - edit.begin;
        }))
      outer.push_back(edit);
  rewrites->push_back(
      {"computed once for each",
       code.Source({code.Instead(before.loop(),
                                 declared + filled + code.Text(before.loop(), outer) + deleted)})});
}

// A function that is carried along from turn to turn.
struct Carried {
  bool angle = false;           // sine and cosine; else a power
  const Loop* inner = nullptr;  // the loop within whose counter it depends on, too
  std::string function;         // "std::exp", as a double
  std::string base;             // "x, " of pow(x, i)
  std::string first;            // the argument in the first turn
  std::string step;             // what it grows by
  std::string argument;         // in any turn
  std::string suffix;           // of its names
  size_t column = 0;            // of its values in a table with all of the loop's
  std::vector<const clang::CallExpr*> calls;
};

// Where the values of a loop within are carried, and where they make their steps.
enum class Form {
  kStepsApart,   // in a table for each, and a loop of their own
  kStepsWithin,  // in a table for each, and the same loop
  kOneTable,     // in one table, and the same loop
};

// The functions that a loop carries along, and their texts.
class Carrying {
 public:
  Carrying(const FunctionCode& code, const Loop& loop)
      : code_(code), loop_(loop), before_(code, loop.stmt) {
    if (Has<clang::ContinueStmt, clang::GotoStmt>(loop.stmt->getBody()) ||
        !OnlyComputes(code, loop.first))
      return;
    for (const clang::Stmt* each : Below(loop.stmt->getBody()))
      if (const clang::CallExpr* call = AsMathCall(code, each)) Add(call);
  }

  bool Any() const { return !carried_.empty(); }
  // Whether some need a loop within, and their steps can be made in that one.
  bool WithinInner() const {
    bool within = false;
    for (const Carried& each : carried_) {
      if (each.inner == nullptr) continue;
      if (Has<clang::ContinueStmt, clang::BreakStmt>(each.inner->stmt->getBody())) return false;
      within = true;
    }
    return within;
  }
  // The loop with all of them carried along.
  std::string Text(Form form) const {
    std::string text;
    std::string deleted;
    std::string steps;
    for (const Carried& each : carried_) {
      if (each.inner != nullptr) continue;
      for (const Value& value : ValuesOf(each, form))
        text += "double " + value.now + " = " + value.first + ";\nconst double " + value.step +
                " = " + value.first_step + ";\n";
      steps += Turned(each, form);
    }
    Edits edits = Calls(form);
    Edits inner_edits;
    for (const Loop* inner : Inners()) {
      text += Tables(*inner, form, &deleted);
      inner_edits.push_back(code_.Instead(inner->stmt, Inner(*inner, edits, form)));
      std::erase_if(edits, [&](const Edit& edit) {
        return edit.begin >= code_.Begin(inner->stmt) && edit.end <= code_.End(inner->stmt);
      });
    }
    edits.insert(edits.end(), inner_edits.begin(), inner_edits.end());
    return text + code_.Head(loop_) + " {\n" + code_.Text(loop_.body, edits) + steps + "}" +
           deleted;
  }

 private:
  // One number that is carried along: its name or entry, that of its step, and what both are in the
  // first turn.
  struct Value {
    std::string now;
    std::string step;
    std::string first;
    std::string first_step;
  };

  // Adds the call, if the function can be carried along.
  void Add(const clang::CallExpr* call) {
    const std::string name = ExpensiveName(call);
    const bool angle = name == "sin" || name == "cos";
    const bool of_base = name == "pow" && call->getNumArgs() == 2;
    if (!angle && name != "exp" && name != "exp2" && !of_base) return;
    const clang::Expr* argument = call->getArg(of_base ? 1 : 0)->IgnoreImplicit();
    const std::optional<Variables> needed = before_.Needs(call);
    if (!needed || needed->count(loop_.var) == 0) return;
    if (of_base && before_.Needs(call->getArg(0))->count(loop_.var) > 0) return;
    Carried carried;
    for (const clang::VarDecl* variable : *needed) {
      if (variable == loop_.var) continue;
      if (carried.inner != nullptr) return;
      carried.inner = InnerOf(variable);
      if (carried.inner == nullptr) return;
    }
    const std::optional<std::string> step = before_.Step(argument, loop_.var);
    if (!step || step->empty()) return;
    const bool standard = code_.Text(call->getCallee()).compare(0, 5, "std::") == 0;
    carried.angle = angle;
    carried.function = (standard ? "std::" : "") + (angle ? "" : name);
    carried.base = of_base ? before_.Text(call->getArg(0), {}) + ", " : "";
    carried.first = FirstOf(argument);
    carried.step = *step;
    carried.argument = before_.Text(argument, {});
    Join(std::move(carried), call);
  }
  // An expression in the first turn, as a double; empty for 0.
  std::string FirstOf(const clang::Expr* expression) const {
    const bool from_zero = code_.Constant(loop_.first) == 0;
    const std::string text =
        from_zero ? before_.AtZero(expression, loop_.var)
                  : before_.Operand(expression, {{loop_.var, code_.Operand(loop_.first)}});
    const bool is_double = FloatingType(expression->getType()) == "double";
    return is_double || text.empty() ? text : "(double)" + text;
  }
  // Sine and cosine of the same angle are one.
  void Join(Carried carried, const clang::CallExpr* call) {
    size_t alike = 0;
    for (Carried& other : carried_) {
      if (other.inner == carried.inner && other.function == carried.function &&
          other.base == carried.base && other.argument == carried.argument) {
        other.calls.push_back(call);
        return;
      }
      alike += other.angle == carried.angle ? 1 : 0;
    }
    carried.suffix = alike == 0 ? "" : std::to_string(alike + 1);
    carried.column = ColumnsOf(carried.inner);
    carried.calls.push_back(call);
    carried_.push_back(std::move(carried));
  }

  // The loop of this counter, if every turn of the carrying loop runs through all of it.
  const Loop* InnerOf(const clang::VarDecl* counter) const {
    for (const clang::Stmt* stmt : loop_.body) {
      const Loop* inner = code_.LoopOf(stmt);
      if (inner == nullptr || inner->var != counter) continue;
      const std::optional<Entries> entries = EntriesOf(code_, before_, {inner});
      return entries && (entries->known || !LeavesFunction(loop_.stmt)) ? inner : nullptr;
    }
    return nullptr;
  }
  // The loops within whose counters are needed, in order.
  std::vector<const Loop*> Inners() const {
    std::vector<const Loop*> inners;
    for (const Loop& loop : code_.loops())
      if (ColumnsOf(&loop) > 0) inners.push_back(&loop);
    return inners;
  }
  // How many numbers, with their steps, are carried for each turn of a loop within.
  size_t ColumnsOf(const Loop* inner) const {
    size_t columns = 0;
    for (const Carried& each : carried_)
      if (each.inner == inner) columns += each.angle ? 4 : 2;
    return columns;
  }
  std::string OneTable(const Loop& inner) const {
    const std::vector<const Loop*> inners = Inners();
    const auto place = std::find(inners.begin(), inners.end(), &inner) - inners.begin();
    return NameOf(code_, "carried", place == 0 ? "" : std::to_string(place + 1));
  }

  // A power, or a sine and a cosine.
  std::vector<Value> ValuesOf(const Carried& carried, Form form) const {
    std::vector<Value> values;
    const std::vector<std::string> names = carried.angle
                                               ? std::vector<std::string>{"sine", "cosine"}
                                               : std::vector<std::string>{"power"};
    for (const std::string& own : names) {
      const std::string name = NameOf(code_, own, carried.suffix);
      Value value{.now = name, .step = name + "_step", .first = "", .first_step = ""};
      if (carried.inner != nullptr) {
        const std::string entry = "[" + EntriesOf(code_, before_, {carried.inner})->index + "]";
        const size_t column = carried.column + 2 * values.size();
        const std::string row =
            form == Form::kOneTable ? OneTable(*carried.inner) + entry + "[" : "";
        value.now = row.empty() ? value.now + entry : row + std::to_string(column) + "]";
        value.step = row.empty() ? value.step + entry : row + std::to_string(column + 1) + "]";
      }
      const std::string function =
          carried.function + (carried.angle ? own.substr(0, 3) : "") + "(" + carried.base;
      const std::string at_zero = own == "sine" ? "0.0" : "1.0";
      value.first = carried.first.empty() ? at_zero : function + carried.first + ")";
      value.first_step = function + carried.step + ")";
      values.push_back(std::move(value));
    }
    return values;
  }

  // The statements that go on by one step.
  std::string Turned(const Carried& carried, Form form) const {
    const std::vector<Value> values = ValuesOf(carried, form);
    const auto& [sine, sine_step, first, first_step] = values[0];
    if (!carried.angle) return sine + " *= " + sine_step + ";\n";
    const std::string& cosine = values[1].now;
    const std::string& cosine_step = values[1].step;
    const std::string next = NameOf(code_, "next", carried.suffix);
    return "const double " + next + " = " + sine + " * " + cosine_step + " + " + cosine + " * " +
           sine_step + ";\n" + cosine + " = " + cosine + " * " + cosine_step + " - " + sine +
           " * " + sine_step + ";\n" + sine + " = " + next + ";\n";
  }

  // The values in the place of the calls.
  Edits Calls(Form form) const {
    Edits edits;
    for (const Carried& each : carried_) {
      const std::vector<Value> values = ValuesOf(each, form);
      for (const clang::CallExpr* call : each.calls) {
        const bool cosine = ExpensiveName(call) == "cos";
        const std::string cast = FloatingType(call->getType()) == "float" ? "(float)" : "";
        edits.push_back(code_.Instead(call, cast + values[cosine ? 1 : 0].now));
      }
    }
    return edits;
  }

  // The tables of what is carried in this loop, filled for the first turn.
  std::string Tables(const Loop& inner, Form form, std::string* deleted) const {
    const Entries entries = *EntriesOf(code_, before_, {&inner});
    std::string tables;
    std::string filled;
    for (const Carried& each : carried_) {
      if (each.inner != &inner) continue;
      for (const auto& [now, step, first, first_step] : ValuesOf(each, form)) {
        filled += now + " = " + first + ";\n" + step + " = " + first_step + ";\n";
        if (form == Form::kOneTable) continue;
        for (const std::string& entry : {now, step}) {
          const std::string name = entry.substr(0, entry.find('['));
          tables += TableOf("double", name, entries);
          *deleted += Deleted(name, entries);
        }
      }
    }
    if (form == Form::kOneTable) {
      const std::string name = OneTable(inner);
      const std::string row = "[" + std::to_string(ColumnsOf(&inner)) + "]";
      tables = entries.known ? "double " + name + "[" + entries.size + "]" + row + ";\n"
                             : "double(*const " + name + ")" + row + " = new double[" +
                                   entries.size + "]" + row + ";\n";
      *deleted += Deleted(name, entries);
    }
    return tables + before_.Head(inner) + " {\n" + filled + "}\n";
  }

  // The loop within, and the steps.
  std::string Inner(const Loop& inner, const Edits& edits, Form form) const {
    std::string steps;
    for (const Carried& each : carried_)
      if (each.inner == &inner) steps += Turned(each, form);
    const std::string head = code_.Head(inner) + " {\n";
    return head + code_.Text(inner.body, edits) + (form == Form::kStepsApart ? "}\n" + head : "") +
           steps + "}\n";
  }

  const FunctionCode& code_;
  const Loop& loop_;
  const BeforeLoop before_;
  std::vector<Carried> carried_;
};

}  // namespace

void TabulateTurns(const FunctionCode& code, Rewrites* rewrites) {
  std::set<const clang::Stmt*> done;
  for (const clang::Stmt* loop : Below(code.body())) {
    if (!isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(loop))
      continue;
    const BeforeLoop before(code, loop);
    std::vector<Table> tables;
    std::set<std::pair<const Loop*, std::string>> seen;
    for (const clang::Stmt* stmt : Below(loop)) {
      if (done.count(stmt) > 0) continue;
      const std::optional<OfCounters> values = AsOfCounters(code, before, stmt);
      const std::optional<Entries> entries =
          values ? EntriesOf(code, before, values->loops) : std::nullopt;
      if (!entries || (!entries->known && LeavesFunction(loop))) continue;
      const std::vector<const clang::Stmt*> parts = Below(stmt);
      done.insert(parts.begin(), parts.end());
      if (seen.insert({values->loops[0], before.Text(values->expression, {})}).second)
        tables.push_back({*values, *entries});
    }
    for (const Table& table : tables) AddTables(code, before, {table}, rewrites);
    if (tables.size() > 1) AddTables(code, before, tables, rewrites);
  }
}

void CarryAlong(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const Carrying carrying(code, loop);
    if (!carrying.Any()) continue;
    for (const Form form : {Form::kStepsApart, Form::kStepsWithin, Form::kOneTable})
      if (form == Form::kStepsApart || carrying.WithinInner())
        rewrites->push_back(
            {"carried along", code.Source({code.Instead(loop.stmt, carrying.Text(form))})});
  }
}

}  // namespace whetstone
