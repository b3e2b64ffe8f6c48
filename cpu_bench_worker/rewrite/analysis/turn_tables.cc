#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"

#include <algorithm>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"

namespace whetstone {
namespace {

constexpr int64_t kTableMax = 4096;  // of a table on the stack
constexpr int64_t kUnusedMax = 8;    // entries before the counter's first value

// How many entries the axis has, if the compiler knows it.
std::optional<int64_t> CountOf(const Axis& axis) {
  if (!axis.known_first || !axis.known_end) return std::nullopt;
  const int64_t count = *axis.known_end - *axis.known_first;
  return count > 0 && count <= kTableMax ? std::optional(count) : std::nullopt;
}

std::optional<Entries> KnownEntries(const std::vector<Axis>& axes) {
  Entries entries{.known = true, .size = "", .index = ""};
  int64_t size = 1;
  for (const Axis& axis : axes) {
    const std::optional<int64_t> count = CountOf(axis);
    if (!count) return std::nullopt;
    size *= *count;
    if (size > kTableMax) return std::nullopt;
    const std::string place = From(axis.place, *axis.known_first);
    const bool sum = entries.index.find(' ') != std::string::npos;
    const std::string row = sum ? "(" + entries.index + ")" : entries.index;
    entries.index = row.empty() ? place : row + " * " + std::to_string(*count) + " + " + place;
  }
  entries.size = std::to_string(size);
  return entries;
}

// What a loop begins or ends at before the loop that it is in.
struct EndOfTurns {
  std::string text;  // an operand
  std::optional<int64_t> known = std::nullopt;
  const Loop* around = nullptr;  // to whose counter it adds something
};

// The loop within the one that `before` is of, or that one, whose counter is all that `bound`
// needs, as a summand; null if there is none.
const Loop* AddedTo(const FunctionCode& code, const BeforeLoop& before, const clang::Expr* bound) {
  const std::optional<Variables> needed = before.Needs(bound);
  if (!needed || needed->size() != 1) return nullptr;
  const clang::VarDecl* counter = *needed->begin();
  int named = 0;
  for (const Summand& each : SummandsOf(bound)) {
    const bool itself = NamedVariable(each.expression) == counter;
    if (itself ? each.minus : !before.NeedsNothing(each.expression)) return nullptr;
    named += itself ? 1 : 0;
  }
  for (const Loop& loop : code.loops())
    if (loop.var == counter && named == 1 && before.NeedsNothing(loop.first) &&
        before.NeedsNothing(loop.last))
      return &loop;
  return nullptr;
}

std::string AsOperand(const std::string& text) {
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

// Its value where the counter that it adds to has the least one (`first`) or the greatest one.
std::optional<EndOfTurns> EndOfTurnsOf(const FunctionCode& code, const BeforeLoop& before,
                                       const clang::Expr* bound, bool first) {
  if (before.NeedsNothing(bound))
    return EndOfTurns{before.Operand(bound, {}), code.Constant(bound)};
  const Loop* around = AddedTo(code, before, bound);
  if (around == nullptr) return std::nullopt;
  const clang::Expr* extreme = first ? around->first : around->last;
  const int64_t less = first || around->inclusive ? 0 : 1;
  std::optional<int64_t> known = -less;
  for (const Summand& each : SummandsOf(bound)) {
    const bool itself = NamedVariable(each.expression) == around->var;
    const std::optional<int64_t> part = code.Constant(itself ? extreme : each.expression);
    known =
        known && part ? std::optional(each.minus ? *known - *part : *known + *part) : std::nullopt;
  }
  const std::string value = before.Operand(extreme, {}) + (less > 0 ? " - 1" : "");
  const std::string text =
      known ? std::to_string(*known) : before.Text(bound, {{around->var, value}});
  return EndOfTurns{AsOperand(text), known, around};
}

// The condition that a loop whose bounds are known before another one has turns.
std::string HasTurns(const BeforeLoop& before, const Loop& loop) {
  return before.Operand(loop.first, {}) + (loop.inclusive ? " <= " : " < ") +
         before.Operand(loop.last, {});
}

std::string HeadOf(const std::string& type, const std::string& name, const Axis& axis) {
  const std::string condition = axis.condition.empty() ? "" : "if (" + axis.condition + ") ";
  return condition + "for (" + type + " " + name + " = " + axis.first + "; " + name + " < " +
         axis.end + "; " + name + "++)";
}

}  // namespace

std::string From(const std::string& name, int64_t first) {
  if (first == 0) return name;
  return name + (first < 0 ? " + " + std::to_string(-first) : " - " + std::to_string(first));
}

std::optional<Axis> AxisOf(const FunctionCode& code, const BeforeLoop& before, const Loop& loop,
                           const std::vector<const Loop*>& loops) {
  const std::optional<EndOfTurns> first = EndOfTurnsOf(code, before, loop.first, true);
  const std::optional<EndOfTurns> last = EndOfTurnsOf(code, before, loop.last, false);
  if (!first || !last) return std::nullopt;
  Axis axis{.place = loop.var->getNameAsString(),
            .first = first->text,
            .end = last->text + (loop.inclusive ? " + 1" : ""),
            .condition = "",
            .head = before.Head(loop),
            .known_first = first->known,
            .known_end = last->known};
  if (loop.inclusive && axis.known_end) ++*axis.known_end;
  const Loop* around = first->around != nullptr ? first->around : last->around;
  if (around == nullptr) return axis;
  if (last->around != nullptr && last->around != around) return std::nullopt;
  axis.condition = HasTurns(before, *around);
  axis.end = AsOperand(axis.end);
  // Where that counter is there too, its loop is around this one.
  if (std::find(loops.begin(), loops.end(), around) == loops.end())
    axis.head = HeadOf(code.Type(loop.var), axis.place, axis);
  return axis;
}

std::optional<Axis> AxisOfSums(const FunctionCode& code, const BeforeLoop& before, const Loop& left,
                               const Loop& right, const std::string& name) {
  Axis axis;
  axis.known_first = 0;
  axis.known_end = -1;
  for (const Loop* loop : {&left, &right}) {
    if (!before.NeedsNothing(loop->first) || !before.NeedsNothing(loop->last)) return std::nullopt;
    const auto add = [](const std::optional<int64_t>& part, std::optional<int64_t>* sum) {
      *sum = *sum && part ? std::optional(**sum + *part) : std::nullopt;
    };
    add(code.Constant(loop->first), &axis.known_first);
    add(code.Constant(loop->last), &axis.known_end);
    if (loop->inclusive) add(1, &axis.known_end);
    const std::string with = loop == &left ? "" : " + ";
    axis.place += with + loop->var->getNameAsString();
    axis.first += with + before.Operand(loop->first, {});
    axis.end += with + before.Operand(loop->last, {}) + (loop->inclusive ? " + 1" : "");
    axis.condition += (loop == &left ? "" : " && ") + HasTurns(before, *loop);
  }
  if (axis.known_first) axis.first = std::to_string(*axis.known_first);
  axis.first = AsOperand(axis.first);
  axis.end = axis.known_end ? std::to_string(*axis.known_end) : "(" + axis.end + " - 1)";
  const bool wider = code.context().getTypeSize(right.var->getType()) >
                     code.context().getTypeSize(left.var->getType());
  axis.head = HeadOf(code.Type(wider ? right.var : left.var), name, axis);
  return axis;
}

std::optional<std::vector<Axis>> AxesOf(const FunctionCode& code, const BeforeLoop& before,
                                        const std::vector<const Loop*>& loops) {
  std::vector<Axis> axes;
  for (const Loop* loop : loops) {
    std::optional<Axis> axis = AxisOf(code, before, *loop, loops);
    if (!axis) return std::nullopt;
    axes.push_back(*std::move(axis));
  }
  return axes;
}

Entries EntriesOf(const std::vector<Axis>& axes) {
  if (const std::optional<Entries> known = KnownEntries(axes)) return *known;
  Entries entries{.known = false, .size = "", .index = ""};
  for (const Axis& axis : axes) {
    // The entries before a small first value stay unused. A loop without turns may end below 0.
    const bool unused =
        axis.known_first && *axis.known_first >= 0 && *axis.known_first <= kUnusedMax;
    const std::string count = unused ? axis.end : axis.end + " - " + axis.first;
    const std::string size = (axis.condition.empty() ? "" : axis.condition + " && ") + axis.end +
                             " > " + (unused ? "0" : axis.first) + " ? " + count + " : 0";
    const std::string place = unused ? axis.place : axis.place + " - " + axis.first;
    entries.size = entries.size.empty() ? size : "(long)(" + entries.size + ") * (" + size + ")";
    entries.index = entries.index.empty()
                        ? place
                        : "(long)(" + entries.index + ") * (" + count + ") + " + place;
  }
  return entries;
}

std::optional<Entries> EntriesOf(const FunctionCode& code, const BeforeLoop& before,
                                 const std::vector<const Loop*>& loops) {
  for (const Loop* loop : loops)
    if (!before.NeedsNothing(loop->first) || !before.NeedsNothing(loop->last)) return std::nullopt;
  const std::optional<std::vector<Axis>> axes = AxesOf(code, before, loops);
  return axes ? std::optional(EntriesOf(*axes)) : std::nullopt;
}

std::string NameOf(const FunctionCode& code, const std::string& name, const std::string& suffix) {
  return code.Fresh({name + suffix, name + "_of" + suffix});
}

std::string NameWithStep(const FunctionCode& code, const std::string& name,
                         const std::string& suffix) {
  const auto fresh = [&](const std::string& each) { return code.Fresh({each}) == each; };
  std::string found = name + suffix;
  for (int number = 1; !fresh(found) || !fresh(found + "_step"); ++number)
    found = name + "_of" + suffix + (number == 1 ? "" : "_" + std::to_string(number));
  return found;
}

std::string TableOf(const std::string& type, const std::string& name, const Entries& entries) {
  return entries.known ? type + " " + name + "[" + entries.size + "];\n"
                       : type + "* const " + name + " = new " + type + "[" + entries.size + "];\n";
}

std::string Deleted(const std::string& name, const Entries& entries) {
  return entries.known ? "" : "\ndelete[] " + name + ";";
}

bool LeavesFunction(const clang::Stmt* loop) {
  return Has<clang::ReturnStmt, clang::GotoStmt, clang::CXXThrowExpr>(loop);
}

}  // namespace whetstone
