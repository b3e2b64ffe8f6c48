// Loops that look for what is equal to something (hash join), or count what is below it (ranks).
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

// What a loop compares in its turns: a key, which only the counter changes, and a value, which is
// the same in all of them.
struct Comparison {
  const clang::Expr* key = nullptr;
  const clang::Expr* value = nullptr;
  clang::BinaryOperatorKind kind = clang::BO_EQ;  // key KIND value
  clang::QualType type;                           // that they are compared as
};

std::optional<Comparison> ComparisonOf(const FunctionCode& code, const Loop& loop,
                                       const clang::Expr* condition) {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (test == nullptr || !test->isComparisonOp() || test->getOpcode() == clang::BO_Cmp ||
      !test->getLHS()->getType()->isArithmeticType())
    return std::nullopt;
  const bool left = Mentions(test->getLHS(), loop.var) > 0;
  Comparison found{.key = left ? test->getLHS() : test->getRHS(),
                   .value = left ? test->getRHS() : test->getLHS(),
                   .kind = left ? test->getOpcode()
                                : clang::BinaryOperator::reverseComparisonOp(test->getOpcode()),
                   .type = test->getLHS()->getType()};
  const Variables inside = Varying(loop.stmt);
  Variables others = inside;
  others.erase(loop.var);
  // The counter itself is found without a search.
  const bool fits = Mentions(found.key, loop.var) > 0 && !Share(Used(found.key), others) &&
                    NamedVariable(found.key) != loop.var && !Share(Used(found.value), inside) &&
                    !Used(found.value).empty() && OnlyComputes(code, found.key) &&
                    OnlyComputes(code, found.value);
  return fits ? std::optional(found) : std::nullopt;
}

// The comparison without whose keys' being equal to the value a turn does nothing.
std::optional<Comparison> MatchOf(const FunctionCode& code, const Loop& loop) {
  const clang::IfStmt* first = loop.body.empty() ? nullptr : AsGuard(loop.body[0]);
  if (first == nullptr) return std::nullopt;
  const bool leaves_out = OnlyContinues(first->getThen());
  if (!leaves_out && loop.body.size() != 1) return std::nullopt;
  // Behind another condition a key may not be there.
  const clang::Expr* condition =
      (leaves_out ? Disjuncts(first->getCond()) : Conjuncts(first->getCond()))[0];
  const std::optional<Comparison> found = ComparisonOf(code, loop, condition);
  if (found && found->kind == (leaves_out ? clang::BO_NE : clang::BO_EQ) &&
      found->type->isIntegerType())
    return found;
  return std::nullopt;
}

// All turns that the loop ever has, and what leaves out those that it has not now.
struct Span {
  std::string first;
  std::string end;
  std::string left_out;
  Variables needed;  // by its first and last turn
};

// The variables that say where the loop begins and ends.
Variables BoundsOf(const Loop& loop) {
  Variables bounds = Used(loop.first);
  bounds.merge(Used(loop.last));
  return bounds;
}

Span SpanOf(const FunctionCode& code, const Loop& loop) {
  const std::string counter = loop.var->getNameAsString();
  Span span{code.Text(loop.first), code.Bound(loop), "", BoundsOf(loop)};
  const Loop* around = code.LoopAround(loop.stmt);
  if (around == nullptr || span.needed.count(around->var) == 0) return span;
  // It begins or ends where the loop around it is: that one's first and last turn know how far.
  if (IsSummand(code, loop.first, around->var)) {
    Edits edits;
    code.Replace(loop.first, around->var, code.Text(around->first), &edits);
    span.left_out = "if (" + counter + " < " + span.first + ") continue;\n";
    span.first = code.Text(loop.first, edits);
    span.needed.merge(Used(around->first));
  }
  if (IsSummand(code, loop.last, around->var)) {
    Edits edits;
    code.Replace(loop.last, around->var, code.Bound(*around) + " - 1", &edits);
    span.left_out += "if (" + counter + " >= " + span.end + ") break;\n";
    span.end = code.Text(loop.last, edits) + (loop.inclusive ? " + 1" : "");
    span.needed.merge(Used(around->last));
  }
  if (!span.left_out.empty()) span.needed.erase(around->var);
  return span;
}

// The outermost loop around this one in which no key changes, and which always does this one; null,
// if there is none.
const clang::Stmt* PlaceOf(const FunctionCode& code, const Loop& loop, const clang::Expr* key,
                           const Span& span) {
  Variables needed = Used(key);
  needed.insert(span.needed.begin(), span.needed.end());
  needed.erase(loop.var);
  const clang::Stmt* place = nullptr;
  std::vector<const Loop*> loops;
  for (const clang::Stmt* around = code.Parent(loop.stmt); around != nullptr;
       around = code.Parent(around)) {
    if (!IsLoop(around)) continue;
    const Loop* counted = code.LoopOf(around);
    if (counted == nullptr) break;
    loops.insert(loops.begin(), counted);
    if (Share(needed, Varying(around)) || LeavesFunction(around) || MaySkip(code, loops, loop.stmt))
      break;
    place = around;
  }
  return place;
}

// What a turn does where its key is below the value, equal to it, above it.
constexpr int kRegions = 3;
using Region = std::vector<const clang::Stmt*>;

// Whether the comparison holds in a region: 0 below, 1 equal, 2 above.
bool Holds(clang::BinaryOperatorKind kind, int region) {
  switch (kind) {
    case clang::BO_LT:
      return region == 0;
    case clang::BO_LE:
      return region <= 1;
    case clang::BO_GT:
      return region == 2;
    case clang::BO_GE:
      return region >= 1;
    case clang::BO_EQ:
      return region == 1;
    default:
      return region != 1;
  }
}

// A loop that only counts how its keys compare with a value.
struct OrderCount {
  Comparison comparison;
  Region regions[kRegions];
};

// Adds what the statement does in a region; false, if it does not depend on the comparison alone.
bool AddDone(const FunctionCode& code, const Loop& loop, const clang::Stmt* stmt, int region,
             OrderCount* ordered) {
  if (const clang::IfStmt* branch = AsPlainIf(stmt)) {
    const std::optional<Comparison> found = ComparisonOf(code, loop, branch->getCond());
    Comparison& known = ordered->comparison;
    if (!found) return false;
    if (known.key == nullptr) known = *found;
    if (code.Text(found->key) != code.Text(known.key) ||
        code.Text(found->value) != code.Text(known.value))
      return false;
    const clang::Stmt* taken = Holds(found->kind, region) ? branch->getThen() : branch->getElse();
    for (const clang::Stmt* each : StatementsOf(taken))
      if (!AddDone(code, loop, each, region, ordered)) return false;
    return true;
  }
  const std::optional<Assignment> assignment = AsAssignment(stmt);
  const clang::VarDecl* count = assignment ? NamedVariable(assignment->target) : nullptr;
  if (count == nullptr || !count->getType()->isArithmeticType() || Mentions(stmt, count) != 1 ||
      (assignment->kind != clang::BO_AddAssign && assignment->kind != clang::BO_SubAssign))
    return false;
  const clang::Expr* value = assignment->value;
  if (value != nullptr &&
      (Share(Used(value), ChangedOrDeclared(loop.stmt)) || !OnlyComputes(code, value)))
    return false;
  ordered->regions[region].push_back(stmt);
  return true;
}

std::optional<OrderCount> OrderCountOf(const FunctionCode& code, const Loop& loop) {
  OrderCount ordered;
  for (int region = 0; region < kRegions; ++region)
    for (const clang::Stmt* each : loop.body)
      if (!AddDone(code, loop, each, region, &ordered)) return std::nullopt;
  return ordered.comparison.key == nullptr ? std::nullopt : std::optional(ordered);
}

// The statements of a region done as often as there are keys in it.
std::string DoneTimes(const FunctionCode& code, const Region& region, const std::string& times) {
  std::string text;
  for (const clang::Stmt* stmt : region) {
    const std::optional<Assignment> assignment = AsAssignment(stmt);
    text += code.Text(assignment->target) +
            (assignment->kind == clang::BO_AddAssign ? " += " : " -= ") +
            (assignment->value == nullptr ? "" : code.Operand(assignment->value) + " * ") + times +
            ";\n";
  }
  return text;
}

}  // namespace

void CountInOrder(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::optional<OrderCount> ordered = OrderCountOf(code, loop);
    // Its turns are not those of another one's, as pairs are.
    const clang::Stmt* place =
        ordered ? PlaceOf(code, loop, ordered->comparison.key,
                          {code.Text(loop.first), code.Bound(loop), "", BoundsOf(loop)})
                : nullptr;
    if (place == nullptr) continue;
    const auto& [below, equal, above] = ordered->regions;
    if (below == equal && equal == above) continue;
    const std::string counter = loop.var->getNameAsString();
    const std::string type = code.Type(loop.var);
    const std::string of = code.Type(ordered->comparison.type);
    const std::string value = code.Operand(ordered->comparison.value);
    const std::string sorted = code.Fresh({"sorted", "sorted_keys"});
    const std::string count = code.Fresh({"count", "keys"});
    const std::string low = code.Fresh({"low", "low_end"});
    const std::string high = code.Fresh({"high", "high_end"});
    const std::string made =
        "long " + count + " = 0;\nfor (" + type + " " + counter + " = " + code.Text(loop.first) +
        "; " + counter + " < " + code.Bound(loop) + "; " + counter + "++) " + count + "++;\n" + of +
        "* const " + sorted + " = new " + of + "[" + count + "];\n" + count + " = 0;\nfor (" +
        type + " " + counter + " = " + code.Text(loop.first) + "; " + counter + " < " +
        code.Bound(loop) + "; " + counter + "++) " + sorted + "[" + count +
        "++] = " + code.Text(ordered->comparison.key) + ";\nfor (long gap = " + count +
        " / 2; gap > 0; gap /= 2) {\nfor (long k = gap; k < " + count + "; k++) {\nconst " + of +
        " moved = " + sorted + "[k];\nlong to = k;\nfor (; to >= gap && moved < " + sorted +
        "[to - gap]; to -= gap) " + sorted + "[to] = " + sorted + "[to - gap];\n" + sorted +
        "[to] = moved;\n}\n}\n";
    // How many keys are below the value, or not above it: without branches.
    const std::string rest = code.Fresh({"rest", "keys_left"});
    const std::string half = code.Fresh({"half", "half_of"});
    const auto search = [&](const std::string& name, const std::string& before,
                            const std::string& behind) {
      return "long " + name + " = 0;\nfor (long " + rest + " = " + count + "; " + rest +
             " > 0;) {\nconst long " + half + " = (" + rest + " + 1) / 2;\n" + name + " += (" +
             before + sorted + "[" + name + " + " + half + " - 1]" + behind + ") * " + half +
             ";\n" + rest + " -= " + half + ";\n}\n";
    };
    std::string text = "{\n";
    if (below != equal) text += search(low, "", " < " + value);
    if (equal != above) text += search(high, "!(" + value + " < ", ")");
    if (below != equal && equal != above)
      text += DoneTimes(code, below, low) + DoneTimes(code, equal, "(" + high + " - " + low + ")") +
              DoneTimes(code, above, "(" + count + " - " + high + ")");
    else if (below != equal)
      text += DoneTimes(code, below, low) + DoneTimes(code, equal, "(" + count + " - " + low + ")");
    else
      text +=
          DoneTimes(code, equal, high) + DoneTimes(code, above, "(" + count + " - " + high + ")");
    rewrites->push_back({"counted in order",
                         code.Source({code.Instead(
                             place, made + code.Text(place, {code.Instead(loop.stmt, text + "}")}) +
                                        "\ndelete[] " + sorted + ";")})});
  }
}

void OnlyMatches(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::optional<Comparison> matching = MatchOf(code, loop);
    if (!matching) continue;
    const Span span = SpanOf(code, loop);
    const clang::Stmt* place = PlaceOf(code, loop, matching->key, span);
    if (place == nullptr) continue;
    const std::string counter = loop.var->getNameAsString();
    const std::string type = code.Type(loop.var);
    const std::string from = code.Fresh({"from", "keys_from"});
    const std::string count = code.Fresh({"count", "keys"});
    const std::string shift = code.Fresh({"shift", "hash_shift"});
    const std::string size = code.Fresh({"size", "hash_size"});
    const std::string first = code.Fresh({"first", "first_of"});
    const std::string next = code.Fresh({"next", "next_of"});
    const std::string slot = code.Fresh({"slot", "slot_of"});
    const std::string match = code.Fresh({"match", "match_of"});
    const auto hash = [&](const clang::Expr* of) {
      return first + "[(unsigned long)(" + code.Type(matching->type) + ")" + code.Operand(of) +
             " * 11400714819323198485u >> " + shift + "]";
    };
    const std::string made =
        "const long " + from + " = " + span.first + ";\nlong " + count + " = " + span.end + " - " +
        from + ";\nif (" + count + " < 0) " + count + " = 0;\nint " + shift + " = 63;\nwhile (" +
        shift + " > 40 && 1L << (64 - " + shift + ") < 2 * " + count + ") " + shift +
        "--;\nconst long " + size + " = 1L << (64 - " + shift + ");\nlong* const " + first +
        " = new long[" + size + "];\nlong* const " + next + " = new long[" + count +
        "];\nfor (long " + slot + " = 0; " + slot + " < " + size + "; " + slot + "++) {\n" + first +
        "[" + slot + "] = -1;\n}\nfor (" + type + " " + counter + " = " + from + " + " + count +
        "; " + counter + "-- > " + from + ";) {\nlong& " + slot + " = " + hash(matching->key) +
        ";\n" + next + "[" + counter + " - " + from + "] = " + slot + ";\n" + slot + " = " +
        counter + " - " + from + ";\n}\n";
    const std::string searched = "for (long " + match + " = " + hash(matching->value) + "; " +
                                 match + " >= 0; " + match + " = " + next + "[" + match +
                                 "]) {\nconst " + type + " " + counter + " = " + from + " + " +
                                 match + ";\n" + span.left_out + code.Text(loop.body, {}) + "}";
    rewrites->push_back({"only what matches",
                         code.Source({code.Instead(
                             place, made + code.Text(place, {code.Instead(loop.stmt, searched)}) +
                                        "\ndelete[] " + first + ";\ndelete[] " + next + ";")})});
  }
}

}  // namespace whetstone
