// Windows in two dimensions, a column at a time (separable filters).
#include <algorithm>
#include <cstdint>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/analysis/takings.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

// A statement of a loop's turn that takes all of a window into accumulators, and the loop of the
// window that moves along with the turns: what it does depends on no more than how far it is from
// the first turn's first element.
struct Window {
  const Loop* outer = nullptr;
  const clang::Stmt* stmt = nullptr;
  const Loop* along = nullptr;
  std::vector<Taking> takings;
  std::vector<const clang::VarDecl*> accumulators;
  Edits columns;             // its elements by their column's name; none where `along` names it
  bool bounds_move = false;  // `along` begins and ends with the turn's counter
};

// Whether the bound never falls from turn to turn: it grows with the counter, where nothing holds
// it (std::min).
bool Grows(const FunctionCode& code, const clang::Expr* bound, const clang::VarDecl* counter) {
  const auto* call = dyn_cast<clang::CallExpr>(bound->IgnoreParenImpCasts()->IgnoreImplicit());
  if (call == nullptr) return Mentions(bound, counter) == 0 || IsSummand(code, bound, counter);
  const clang::FunctionDecl* callee = call->getDirectCallee();
  const std::string name = callee == nullptr ? "" : callee->getNameAsString();
  if (name != "min" && name != "max") return false;
  return std::all_of(call->arg_begin(), call->arg_end(), [&](const clang::Expr* each) {
    return Mentions(each, counter) == 0 || IsSummand(code, each->IgnoreImplicit(), counter);
  });
}

// Whether the columns can be counted in the turns' type: beyond the first of them there are none
// below 0 in a type that has none.
bool Counts(const FunctionCode& code, const Window& window) {
  const clang::QualType type = window.outer->var->getType();
  if (!code.context().hasSameUnqualifiedType(type, window.along->var->getType())) return false;
  if (type->isSignedIntegerType()) return true;
  const std::optional<int64_t> first = code.Constant(window.along->first);
  return first && *first >= 0;
}

// Whether the window depends on its turn by nothing but the counter.
bool NeedsOnlyCounter(const Window& window) {
  const Variables own = Declared(window.stmt);
  const Variables others = Varying(window.outer->stmt);
  for (const clang::VarDecl* used : Used(window.stmt)) {
    const bool accumulator = std::find(window.accumulators.begin(), window.accumulators.end(),
                                       used) != window.accumulators.end();
    if (used != window.outer->var && own.count(used) == 0 && !accumulator && others.count(used) > 0)
      return false;
  }
  return true;
}

// A variable that is nothing but the column gives way to the column itself.
void DropCopies(const FunctionCode& code, const Window& window, const std::string& column,
                Edits* edits) {
  const clang::Stmt* body = window.along->stmt->getBody();
  const Variables changed = Changed(body);
  for (const clang::Stmt* each : Below(body)) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(each);
    const auto* copy = declaration == nullptr || !declaration->isSingleDecl()
                           ? nullptr
                           : dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
    if (copy == nullptr || copy->getInit() == nullptr || changed.count(copy) > 0 ||
        !code.context().hasSameUnqualifiedType(copy->getType(), window.outer->var->getType()))
      continue;
    const clang::Expr* value = copy->getInit()->IgnoreImpCasts();
    const bool whole = std::any_of(edits->begin(), edits->end(), [&](const Edit& edit) {
      return edit.text == column && edit.begin == code.Begin(value) && edit.end == code.End(value);
    });
    if (!whole) continue;
    Override(edits, {code.Begin(declaration), code.End(declaration), ""});
    code.Replace(body, copy, column, edits);
  }
}

std::optional<Window> WindowOf(const FunctionCode& code, const Loop& outer, const clang::Stmt* stmt,
                               const Loop& along, const std::string& column) {
  Window window{.outer = &outer,
                .stmt = stmt,
                .along = &along,
                .takings = TakingsOf(code, stmt),
                .accumulators = {},
                .columns = {}};
  const clang::Stmt* body = along.stmt->getBody();
  // A turn without the window may be where there is nothing to read.
  if (window.takings.empty() || HasOwn<clang::BreakStmt>(body) || !CallsAreQuiet(code, stmt) ||
      MaySkip(code, {&outer}, stmt))
    return std::nullopt;
  for (const Taking& taking : window.takings) {
    const clang::QualType type = taking.accumulator->getType();
    const bool known = !FloatingType(type).empty() ||
                       (type->isIntegerType() && code.context().getTypeSize(type) <= 64);
    if (!known || !code.IsWithin(taking.stmt, body)) return std::nullopt;
    std::vector<const clang::VarDecl*>& all = window.accumulators;
    if (std::find(all.begin(), all.end(), taking.accumulator) == all.end())
      all.push_back(taking.accumulator);
  }
  const Variables own = Declared(stmt);
  if (Share(Used(along.first), own) || Share(Used(along.last), own) || !Counts(code, window) ||
      !NeedsOnlyCounter(window))
    return std::nullopt;
  const int named = Mentions(stmt, outer.var);
  if (named == 0) return std::nullopt;
  if (named == Mentions(along.first, outer.var) + Mentions(along.last, outer.var)) {
    window.bounds_move = true;
    return Grows(code, along.first, outer.var) && Grows(code, along.last, outer.var)
               ? std::optional(window)
               : std::nullopt;
  }
  if (named != Mentions(body, outer.var)) return std::nullopt;
  const std::optional<Edits> columns = SumsReplaced(code, body, outer.var, along.var, column);
  if (!columns) return std::nullopt;
  window.columns = *columns;
  DropCopies(code, window, column, &window.columns);
  return window;
}

// "text + expression + more", constants added up; "" is 0.
std::string AddedUp(const FunctionCode& code, const std::string& text,
                    const clang::Expr* expression, int64_t more) {
  const std::optional<int64_t> constant = code.Constant(expression);
  std::string sum = text;
  if (!constant) sum += sum.empty() ? code.Text(expression) : " + " + code.Operand(expression);
  const int64_t rest = more + constant.value_or(0);
  if (rest > 0) sum += (sum.empty() ? "" : " + ") + std::to_string(rest);
  if (rest < 0) sum += (sum.empty() ? "-" : " - ") + std::to_string(-rest);
  return sum.empty() ? "0" : sum;
}

// The columns of all turns: from the first to before the end.
struct ColumnRange {
  std::string from;
  std::optional<int64_t> first;  // if it is known
  std::string end;
};

ColumnRange RangeOf(const FunctionCode& code, const Window& window) {
  const Loop& outer = *window.outer;
  const Loop& along = *window.along;
  ColumnRange range;
  if (!window.bounds_move) {
    const std::optional<int64_t> begin = code.Constant(outer.first);
    const std::optional<int64_t> first = code.Constant(along.first);
    if (begin && first) range.first = *begin + *first;
    range.from = AddedUp(code, begin == 0 ? "" : code.Operand(outer.first), along.first, 0);
    range.end = AddedUp(code, code.Bound(outer), along.last, along.inclusive ? 0 : -1);
    return range;
  }
  Edits begin;
  code.Replace(along.first, outer.var, code.Text(outer.first), &begin);
  range.from = code.Text(along.first, begin);
  Edits last;
  code.Replace(along.last, outer.var, code.Bound(outer) + " - 1", &last);
  range.end = code.Text(along.last, last);
  const bool sum = SummandsOf(along.last).size() > 1 || IsAtom(along.last);
  if (along.inclusive) range.end = (sum ? range.end : "(" + range.end + ")") + " + 1";
  return range;
}

// What an accumulator holds before anything is taken into it.
std::string Nothing(const FunctionCode& code, const Window& window, const Taking& taking) {
  if (JoinedBy(taking.kind) != nullptr) return "0";
  const clang::Expr* begin = taking.accumulator->getInit();
  bool begins = begin != nullptr && Used(begin).empty() && OnlyComputes(code, begin) &&
                code.IsWithin(begin, window.outer->stmt);
  for (const clang::Stmt* each : window.outer->body)
    begins = begins && (each == window.stmt || Changed(each).count(taking.accumulator) == 0);
  if (begins) return code.Text(begin);
  const clang::QualType type = taking.accumulator->getType();
  const bool largest = taking.kind == TakingKind::kLargest;
  const std::string floating = FloatingType(type);
  if (!floating.empty())
    return (largest ? "-1.0" : "1.0") + std::string(floating == "float" ? "f / 0.0f" : " / 0.0");
  if (!type->isSignedIntegerType())
    return largest ? "0" : "(" + code.Type(taking.accumulator) + ")-1";
  const std::string most =
      std::to_string((uint64_t{1} << (code.context().getTypeSize(type) - 1)) - 1);
  return largest ? "-" + most + " - 1" : most;
}

// The outermost loop before which the tables can be made.
const clang::Stmt* PlaceOfTables(const FunctionCode& code, const Window& window) {
  const Loop& outer = *window.outer;
  Variables needed;
  for (const clang::Expr* each : {window.along->first, window.along->last, outer.first, outer.last})
    needed.merge(Used(each));
  needed.erase(outer.var);
  const clang::Stmt* place = outer.stmt;
  for (const clang::Stmt* around = code.Parent(place); around != nullptr;
       around = code.Parent(around)) {
    if (!IsLoop(around)) continue;
    if (Share(needed, Varying(around)) || LeavesFunction(around)) break;
    place = around;
  }
  return place;
}

// Whether no edit begins within another one.
bool LieApart(Edits edits) {
  std::sort(edits.begin(), edits.end(),
            [](const Edit& left, const Edit& right) { return left.begin < right.begin; });
  for (size_t i = 1; i < edits.size(); ++i)
    if (edits[i].begin < edits[i - 1].end) return false;
  return true;
}

void AddColumns(const FunctionCode& code, const Window& window, const std::string& column,
                Rewrites* rewrites) {
  const Loop& outer = *window.outer;
  const Loop& along = *window.along;
  const ColumnRange range = RangeOf(code, window);
  const std::string type = code.Type(outer.var);
  const std::string from = range.first ? range.from : code.Fresh({"from", "first_column"});
  const std::string end = code.Fresh({"end", "columns_end"});
  const auto element = [&](const std::string& table, const std::string& at) {
    return table + "[" + (range.first ? From(at, *range.first) : at + " - " + from) + "]";
  };
  const std::string own = along.var->getNameAsString();
  const std::string at = window.bounds_move ? own : outer.var->getNameAsString() + " + " + own;
  const std::string size = range.first == 0
                               ? end + " > 0 ? " + end
                               : end + " > " + from + " ? " +
                                     (range.first ? From(end, *range.first) : end + " - " + from);
  std::string made = range.first ? "" : "const " + type + " " + from + " = " + range.from + ";\n";
  made += "const " + type + " " + end + " = " + range.end + ";\n";
  std::string deleted;
  std::string emptied;
  std::string joined;
  std::map<const clang::VarDecl*, std::string> tables;
  Edits edits = window.columns;
  for (const Taking& taking : window.takings) {
    std::string& table = tables[taking.accumulator];
    if (table.empty()) {
      const std::string name = taking.accumulator->getNameAsString();
      const std::string of = code.Type(taking.accumulator);
      table = code.Fresh({name + "s", "column_" + name});
      made += of + "* const " + table + " = new " + of + "[" + size + " : 0];\n";
      deleted += "\ndelete[] " + table + ";";
      emptied += element(table, column) + " = " + Nothing(code, window, taking) + ";\n";
      joined += Joined(taking.kind, element(table, at), name) + "\n";
    }
    TakeInto(code, taking, element(table, column), &edits);
  }
  if (!LieApart(edits)) return;
  const std::string head = "for (" + type + " " + column + " = " + from + "; " + column + " < " +
                           end + "; " + column + "++) {\n";
  const Edit each_column = {code.Begin(along.stmt), code.End(along.stmt),
                            head + code.Text(along.body, edits) + "}"};
  const std::string text =
      head + emptied + "}\n" + code.Text(window.stmt, {each_column}) + "\n" +
      code.Text(outer.stmt, {code.Instead(window.stmt, code.Head(along) + " {\n" + joined + "}")});
  const clang::Stmt* place = PlaceOfTables(code, window);
  const std::string within =
      place == outer.stmt ? text : code.Text(place, {code.Instead(outer.stmt, text)});
  rewrites->push_back(
      {"a window by columns", code.Source({code.Instead(place, made + within + deleted)})});
}

}  // namespace

void TakeColumns(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    if (LeavesFunction(outer.stmt)) continue;
    for (const clang::Stmt* stmt : outer.body) {
      if (!IsLoop(stmt)) continue;
      for (const Loop& along : code.loops()) {
        // With one loop there is nothing that other turns' windows have too.
        const bool two =
            along.stmt == stmt ? HasLoop(along.stmt->getBody()) : code.IsWithin(along.stmt, stmt);
        if (!two) continue;
        const std::string column = code.Fresh({"c", "column", "at"});
        if (const std::optional<Window> window = WindowOf(code, outer, stmt, along, column))
          AddColumns(code, *window, window->bounds_move ? along.var->getNameAsString() : column,
                     rewrites);
      }
    }
  }
}

}  // namespace whetstone
