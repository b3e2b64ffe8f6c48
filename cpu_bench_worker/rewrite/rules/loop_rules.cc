#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr int64_t kTurnsMax = 1024;

// A loop and what it does, in order: loops whose bounds are those of every turn, and what stands
// between them.
struct Nest {
  struct Part {
    const Loop* inner = nullptr;                 // null where the part is
    std::vector<const clang::Stmt*> statements;  // these
  };
  const Loop* outer = nullptr;
  std::vector<Part> parts;
  std::vector<const clang::VarDecl*> kept;  // a turn's variables that live from part to part
  Variables own;                            // all that a turn declares itself, and the counter
  bool innermost = false;  // turns stand in the last of loops in loops, not in the first
};

// What a rule is called that runs turns side by side.
std::string Called(const Nest& nest, const std::string& name) {
  return name + (nest.innermost ? ", innermost" : "");
}

// The variables that a statement declares.
std::vector<const clang::VarDecl*> DeclaredBy(const clang::Stmt* stmt) {
  std::vector<const clang::VarDecl*> variables;
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  if (declaration == nullptr) return variables;
  for (const clang::Decl* decl : declaration->decls())
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) variables.push_back(variable);
  return variables;
}

// Returns the nest of a loop whose turns need nothing of each other, as far as variables tell.
std::optional<Nest> NestOf(const FunctionCode& code, const Loop& outer) {
  if (Has<clang::ReturnStmt, clang::BreakStmt, clang::GotoStmt>(outer.stmt->getBody()))
    return std::nullopt;
  const Variables declared = Declared(outer.stmt->getBody());
  for (const clang::VarDecl* changed : Changed(outer.stmt->getBody()))
    if (declared.count(changed) == 0) return std::nullopt;
  Variables own = {outer.var};
  for (const clang::Stmt* stmt : outer.body)
    for (const clang::VarDecl* variable : DeclaredBy(stmt)) own.insert(variable);
  Nest nest{.outer = &outer, .parts = {}, .kept = {}, .own = own, .innermost = false};
  bool loops = false;
  for (const clang::Stmt* stmt : outer.body) {
    const bool loop = isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(stmt);
    const Loop* inner = code.LoopOf(stmt);
    if (loop &&
        (inner == nullptr || Share(Used(inner->first), own) || Share(Used(inner->last), own)))
      return std::nullopt;
    loops |= loop;
    if (loop || nest.parts.empty() || nest.parts.back().inner != nullptr)
      nest.parts.push_back({inner, {}});
    if (!loop) nest.parts.back().statements.push_back(stmt);
  }
  if (!loops) return std::nullopt;
  // What ends a turn ends only a part of it, once they are loops of their own.
  for (size_t i = 0; i + 1 < nest.parts.size(); ++i)
    for (const clang::Stmt* stmt : nest.parts[i].statements)
      if (Has<clang::ContinueStmt>(stmt)) return std::nullopt;
  Variables later;
  for (auto part = nest.parts.rbegin(); part != nest.parts.rend(); ++part) {
    std::vector<const clang::VarDecl*> kept;
    for (const clang::Stmt* stmt : part->statements)
      for (const clang::VarDecl* variable : DeclaredBy(stmt))
        if (later.count(variable) > 0) kept.push_back(variable);
    nest.kept.insert(nest.kept.begin(), kept.begin(), kept.end());
    if (part->inner != nullptr) later.merge(Used(part->inner->stmt));
    for (const clang::Stmt* stmt : part->statements) later.merge(Used(stmt));
  }
  for (const clang::VarDecl* variable : nest.kept)
    if (!variable->getType()->isArithmeticType() && !variable->getType()->isPointerType())
      return std::nullopt;
  return nest;
}

// Texts of a nest whose turn's variables are elements of arrays.
class SideBySide {
 public:
  // `index` is a variable's place in its array, `counter` stands for the outer loop's.
  SideBySide(const FunctionCode& code, const Nest& nest, const std::string& index,
             const std::string& counter)
      : code_(code), nest_(nest), index_(index) {
    for (const clang::VarDecl* variable : nest.kept)
      code.Replace(nest.outer->stmt->getBody(), variable,
                   variable->getNameAsString() + "[" + index + "]", &edits_);
    if (!counter.empty())
      code.Replace(nest.outer->stmt->getBody(), nest.outer->var, counter, &edits_);
  }
  std::string Arrays(const std::string& size) const {
    std::string text;
    for (const clang::VarDecl* variable : nest_.kept)
      text += ElementType(variable) + " " + variable->getNameAsString() + "[" + size + "];\n";
    return text;
  }
  // Compilers select among ints for many turns at once, and among bools for one after the other.
  std::string ElementType(const clang::VarDecl* variable) const {
    bool only_bools = variable->getType()->isBooleanType() && variable->getInit() != nullptr &&
                      IsBool(variable->getInit());
    for (const clang::Stmt* each : Below(nest_.outer->stmt->getBody())) {
      const std::optional<Assignment> assignment = AsAssignment(each);
      if (assignment && NamedVariable(assignment->target) == variable)
        only_bools = only_bools && assignment->value != nullptr && IsBool(assignment->value);
    }
    return only_bools ? "int" : code_.Type(variable);
  }
  static bool IsBool(const clang::Expr* value) {
    return value->IgnoreParenImpCasts()->getType()->isBooleanType();
  }
  // All parts, each a loop over the turns; `head` is that loop's.
  std::string Parts(const std::string& head) const {
    std::string text;
    for (const Nest::Part& part : nest_.parts) {
      std::string turn;
      for (const clang::Stmt* stmt : part.statements) turn += Statement(stmt);
      if (part.inner != nullptr)
        text += Within(*part.inner, head);
      else if (!turn.empty())
        text += head + " {\n" + turn + "}\n";
    }
    return text;
  }

 private:
  // The loop with the turns in it.
  std::string Within(const Loop& loop, const std::string& head) const {
    const Loop* next = nest_.innermost ? code_.OnlyLoopIn(loop) : nullptr;
    const bool deeper = next != nullptr && !Share(Used(next->first), nest_.own) &&
                        !Share(Used(next->last), nest_.own);
    return code_.Head(loop) + " {\n" +
           (deeper ? Within(*next, head) : head + " {\n" + code_.Text(loop.body, edits_) + "}\n") +
           "}\n";
  }
  // A declaration of kept variables is an assignment to their elements.
  std::string Statement(const clang::Stmt* stmt) const {
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    if (declaration == nullptr) return code_.Text(stmt, edits_) + "\n";
    std::string text;
    for (const clang::Decl* decl : declaration->decls()) {
      const auto* variable = dyn_cast<clang::VarDecl>(decl);
      if (std::find(nest_.kept.begin(), nest_.kept.end(), variable) == nest_.kept.end())
        return code_.Text(stmt, edits_) + "\n";
      if (variable->getInit() != nullptr)
        text += variable->getNameAsString() + "[" + index_ +
                "] = " + code_.Text(variable->getInit(), edits_) + ";\n";
    }
    return text;
  }

  const FunctionCode& code_;
  const Nest& nest_;
  const std::string index_;
  Edits edits_;
};

// All turns at once, where the compiler knows how many, or no variable has to be kept.
void AddWhole(const FunctionCode& code, const Nest& nest, Rewrites* rewrites) {
  const Loop& outer = *nest.outer;
  // Counted from 0, so that a turn's counter is its place.
  const std::optional<int64_t> last = code.Constant(outer.last);
  const int64_t turns = last ? *last + (outer.inclusive ? 1 : 0) : 0;
  const bool known = turns > 0 && turns <= kTurnsMax && code.Constant(outer.first) == 0;
  if (!nest.kept.empty() && !known) return;
  if (nest.parts.size() == 1) return;  // two loops exchanged
  const SideBySide texts(code, nest, outer.var->getNameAsString(), "");
  const std::string head = code.Head(outer);
  rewrites->push_back({Called(nest, "all turns side by side"),
                       code.Source({code.Instead(
                           outer.stmt, texts.Arrays(code.Bound(outer)) + texts.Parts(head))})});
}

// So many turns at a time, the last time fewer.
void AddBlocks(const FunctionCode& code, const Nest& nest, int turns, Rewrites* rewrites) {
  const Loop& outer = *nest.outer;
  const std::string type = code.Type(outer.var);
  const std::string name = outer.var->getNameAsString();
  const std::string start = code.Fresh({"start", "from", "block"});
  const std::string stop = code.Fresh({"stop", "until", "block_end"});
  const std::string size = std::to_string(turns);
  const std::string bound = code.Bound(outer);
  const SideBySide texts(code, nest, name + " - " + start, "");
  const std::string head = "for (" + type + " " + name + " = " + start + "; " + name + " < " +
                           stop + "; " + name + "++)";
  const std::string text = "for (" + type + " " + start + " = " + code.Text(outer.first) + "; " +
                           start + " < " + bound + "; " + start + " += " + size + ") {\nconst " +
                           type + " " + stop + " = " + start + " + " + size + " < " + bound +
                           " ? " + start + " + " + size + " : " + bound + ";\n" +
                           texts.Arrays(size) + texts.Parts(head) + "}";
  rewrites->push_back(
      {Called(nest, size + " turns side by side"), code.Source({code.Instead(outer.stmt, text)})});
}

// So many turns at a time, always; what is left runs as before.
void AddGroups(const FunctionCode& code, const Nest& nest, int turns, Rewrites* rewrites) {
  const Loop& outer = *nest.outer;
  const std::string name = outer.var->getNameAsString();
  const std::string lane = code.Fresh({"q", "t", "lane"});
  const std::string size = std::to_string(turns);
  const SideBySide texts(code, nest, lane, name + " + " + lane);
  const std::string head =
      "for (int " + lane + " = 0; " + lane + " < " + size + "; " + lane + "++)";
  const std::string text = code.InGroups(outer, turns, texts.Arrays(size) + texts.Parts(head));
  rewrites->push_back({Called(nest, size + " turns in a group"),
                       code.Source({code.Instead(outer.stmt, code.WithCounter(outer, text))})});
}

// A guard of nested loops, and what bounds it: one comparison for each.
struct Guarded {
  const clang::IfStmt* guard = nullptr;
  const Loop* outermost = nullptr;
  struct Bound {
    const Loop* loop = nullptr;
    CounterComparison comparison;
  };
  std::vector<Bound> bounds;
  std::vector<const clang::Expr*> others;  // conditions that compare no counter
};

std::vector<Guarded> GuardsOf(const FunctionCode& code) {
  std::vector<Guarded> found;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* guard = AsGuard(stmt);
    if (guard == nullptr) continue;
    // The loops whose body is nothing but the next one, and at last the guard.
    std::vector<const Loop*> around;
    const clang::Stmt* inner = guard;
    for (const clang::Stmt* at = code.Parent(guard); at != nullptr; at = code.Parent(at)) {
      if (isa<clang::CompoundStmt>(at)) continue;
      const Loop* loop = code.LoopOf(at);
      if (loop == nullptr || loop->body.size() != 1 || loop->body[0] != inner) break;
      around.push_back(loop);
      inner = at;
    }
    Guarded guarded{.guard = guard, .outermost = nullptr, .bounds = {}, .others = {}};
    for (const clang::Expr* condition : Conjuncts(guard->getCond())) {
      bool bounds = false;
      for (size_t i = 0; i < around.size() && !bounds; ++i) {
        const std::optional<CounterComparison> comparison =
            ComparedCounter(condition, around[i]->var);
        // The loops' counters are among what they change.
        if (!comparison || Share(Used(comparison->limit), Changed(around.back()->stmt))) continue;
        bounds = true;
        guarded.bounds.push_back({around[i], *comparison});
        // Outer loops come later in `around`.
        const bool wider = guarded.outermost == nullptr ||
                           code.Begin(around[i]->stmt) < code.Begin(guarded.outermost->stmt);
        if (wider) guarded.outermost = around[i];
      }
      if (!bounds) guarded.others.push_back(condition);
    }
    const bool whole =
        std::all_of(guarded.bounds.begin(), guarded.bounds.end(), [](const Guarded::Bound& bound) {
          return bound.comparison.limit->getType()->isSignedIntegerType() &&
                 bound.loop->var->getType()->isSignedIntegerType();
        });
    if (!guarded.bounds.empty() && whole) found.push_back(guarded);
  }
  return found;
}

// One of two bounds: "a < b ? a : b".
std::string Choice(const std::string& own, const char* compared, const std::string& other) {
  return own + " " + compared + " " + other + " ? " + own + " : " + other;
}

// The edit that leaves only the other conditions of the guard.
Edit WithoutBounds(const FunctionCode& code, const Guarded& guarded) {
  if (guarded.others.empty())
    return code.Instead(guarded.guard, code.Text(StatementsOf(guarded.guard->getThen()), {}));
  std::string condition;
  for (const clang::Expr* other : guarded.others)
    condition += (condition.empty() ? "" : " && ") + code.Text(other);
  return code.Instead(guarded.guard->getCond(), condition);
}

}  // namespace

void ExchangeLoops(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    const Loop* inner = code.OnlyLoopIn(outer);
    if (inner == nullptr || Used(inner->first).count(outer.var) > 0 ||
        Used(inner->last).count(outer.var) > 0)
      continue;
    rewrites->push_back(
        {"exchanged loops", code.Source({code.Instead(
                                outer.stmt, code.Head(*inner) + " {\n" + code.Head(outer) + " {\n" +
                                                code.Text(inner->body, {}) + "}\n}")})});
  }
}

void RunTurnsSideBySide(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    std::optional<Nest> nest = NestOf(code, outer);
    if (!nest) continue;
    const bool deeper =
        std::any_of(nest->parts.begin(), nest->parts.end(), [&](const Nest::Part& part) {
          return part.inner != nullptr && code.OnlyLoopIn(*part.inner) != nullptr;
        });
    const std::optional<int64_t> known = code.Constant(outer.last);
    for (const bool innermost : {false, true}) {
      if (innermost && !deeper) continue;
      nest->innermost = innermost;
      AddWhole(code, *nest, rewrites);
      for (const int turns : {16, 64})
        if (!known || turns < *known) AddBlocks(code, *nest, turns, rewrites);
      for (const int turns : {4, 8, 16})
        if (!known || turns < *known) AddGroups(code, *nest, turns, rewrites);
    }
  }
}

void ClipBounds(const FunctionCode& code, Rewrites* rewrites) {
  for (const Guarded& guarded : GuardsOf(code)) {
    Edits edits = {WithoutBounds(code, guarded)};
    for (const Loop& loop : code.loops()) {
      // A loop with one condition is one that the compiler can count.
      std::string first;
      std::string last;
      for (const Guarded::Bound& bound : guarded.bounds) {
        if (bound.loop != &loop) continue;
        const CounterComparison& compared = bound.comparison;
        const std::string limit = code.Operand(compared.limit);
        if (compared.upper) {
          const bool beyond = compared.equal && !loop.inclusive;
          const bool below = !compared.equal && loop.inclusive;
          last = Choice(last.empty() ? code.Operand(loop.last) : "(" + last + ")", "<",
                        beyond  ? "(" + limit + " + 1)"
                        : below ? "(" + limit + " - 1)"
                                : limit);
        } else {
          first = Choice(first.empty() ? code.Operand(loop.first) : "(" + first + ")", ">",
                         compared.equal ? limit : "(" + limit + " + 1)");
        }
      }
      if (!first.empty()) edits.push_back(code.Instead(loop.first, first));
      if (!last.empty()) edits.push_back(code.Instead(loop.last, "(" + last + ")"));
    }
    rewrites->push_back({"clipped bounds", code.Source(edits)});
  }
}

void SplitInterior(const FunctionCode& code, Rewrites* rewrites) {
  for (const Guarded& guarded : GuardsOf(code)) {
    std::string inside;
    // Whether the bounds name no counter of the loops that they are to stand before.
    bool known_before = true;
    const Variables counters = Declared(guarded.outermost->stmt);
    for (const Guarded::Bound& bound : guarded.bounds) {
      const Loop& loop = *bound.loop;
      const CounterComparison& compared = bound.comparison;
      known_before &= !Share(Used(loop.first), counters) && !Share(Used(loop.last), counters);
      std::string extreme = code.Text(loop.first);
      if (compared.upper)
        extreme = loop.inclusive ? code.Text(loop.last) : code.Operand(loop.last) + " - 1";
      inside +=
          (inside.empty() ? "" : " && ") + extreme +
          (compared.upper ? (compared.equal ? " <= " : " < ") : (compared.equal ? " >= " : " > ")) +
          code.Operand(compared.limit);
    }
    if (!known_before) continue;
    const clang::Stmt* whole = guarded.outermost->stmt;
    rewrites->push_back(
        {"interior without a guard",
         code.Source({code.Instead(whole, "if (" + inside + ") {\n" +
                                              code.Text(whole, {WithoutBounds(code, guarded)}) +
                                              "\n} else {\n" + code.Text(whole) + "\n}")})});
  }
}

}  // namespace whetstone
