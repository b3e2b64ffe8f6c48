#include <algorithm>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/containers.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// std::vector<std::vector<T>> rows(height, std::vector<T>(width, value));
struct Rows {
  const clang::VarDecl* variable = nullptr;
  const clang::DeclStmt* declaration = nullptr;
  std::string type;  // "std::vector<T>"
  const clang::Expr* height = nullptr;
  const clang::Expr* width = nullptr;
  const clang::Expr* value = nullptr;  // null: that of T
  struct Element {
    const clang::Expr* whole = nullptr;  // rows[row][column]
    const clang::Expr* row = nullptr;
    const clang::Expr* column = nullptr;
  };
  std::vector<Element> elements;  // everything that is done with it
};

// what[index], of a vector.
const clang::CXXOperatorCallExpr* AsElement(const clang::Stmt* stmt) {
  const auto* expression = dyn_cast<clang::Expr>(stmt);
  const auto* call = expression == nullptr
                         ? nullptr
                         : dyn_cast<clang::CXXOperatorCallExpr>(expression->IgnoreParenImpCasts());
  return call != nullptr && call->getOperator() == clang::OO_Subscript ? call : nullptr;
}

std::optional<Rows> RowsOf(const FunctionCode& code, const clang::DeclStmt* declaration) {
  const auto* variable = declaration->isSingleDecl()
                             ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                             : nullptr;
  if (variable == nullptr || variable->getInit() == nullptr || variable->isStaticLocal() ||
      Has<clang::InitListExpr>(variable->getInit()))
    return std::nullopt;
  const std::string type = code.Type(variable);
  const std::string outer = "std::vector<";
  if (type.rfind(outer + outer, 0) != 0) return std::nullopt;
  const std::vector<const clang::Expr*> made = MadeWith(variable->getInit());
  if (made.size() != 2) return std::nullopt;
  const std::vector<const clang::Expr*> row = MadeWith(made[1]);
  if (row.empty() || row.size() > 2) return std::nullopt;
  Rows rows{.variable = variable,
            .declaration = declaration,
            .type = type.substr(outer.size(), type.rfind('>') - outer.size()),
            .height = made[0],
            .width = row[0],
            .value = row.size() == 2 ? row[1] : nullptr,
            .elements = {}};
  for (const clang::Stmt* each : Below(code.body())) {
    const auto* column = isa<clang::CXXOperatorCallExpr>(each) ? AsElement(each) : nullptr;
    const auto* of_row = column == nullptr ? nullptr : AsElement(column->getArg(0));
    if (of_row == nullptr || NamedVariable(of_row->getArg(0)) != variable) continue;
    rows.elements.push_back({column, of_row->getArg(1), column->getArg(1)});
  }
  if (static_cast<int>(rows.elements.size()) != Mentions(code.body(), variable) ||
      rows.elements.empty())
    return std::nullopt;
  return rows;
}

std::vector<Rows> AllRows(const FunctionCode& code) {
  std::vector<Rows> all;
  if (Has<clang::LambdaExpr>(code.body())) return all;  // it may use them too
  for (const clang::Stmt* stmt : Below(code.body()))
    if (const auto* declaration = dyn_cast<clang::DeclStmt>(stmt))
      if (std::optional<Rows> rows = RowsOf(code, declaration)) all.push_back(*std::move(rows));
  return all;
}

std::string ValueBehind(const FunctionCode& code, const Rows& rows) {
  return rows.value == nullptr ? "" : ", " + code.Text(rows.value);
}

// Puts `text` in the place of an element.
Edit ElementEdit(const FunctionCode& code, const Rows::Element& element, const std::string& text) {
  return {code.Begin(element.whole), code.End(element.whole), text};
}

bool ElementsHoldNoOther(const Rows& rows) {
  return std::all_of(rows.elements.begin(), rows.elements.end(), [&](const Rows::Element& each) {
    return Mentions(each.whole, rows.variable) == 1;
  });
}

// The loop whose turn `i` works on row `i` and the one before, and what else is done with rows.
struct Rolled {
  const Loop* loop = nullptr;
  // Loops that set an element of every row: rows[k][0] = k.
  std::vector<const Loop*> columns;
};

// Whether `row` is the loop's counter less `back`.
bool IsRow(const FunctionCode& code, const clang::Expr* row, const clang::VarDecl* counter,
           int64_t back) {
  if (back == 0) return NamedVariable(row) == counter;
  const auto* less = dyn_cast<clang::BinaryOperator>(row->IgnoreParenImpCasts());
  return less != nullptr && less->getOpcode() == clang::BO_Sub &&
         NamedVariable(less->getLHS()) == counter && code.Constant(less->getRHS()) == back;
}

// Whether the loop only sets one column of its own row, whatever the rows are.
bool SetsColumn(const FunctionCode& code, const Loop& loop, const Rows& rows) {
  const std::optional<Assignment> set =
      loop.body.size() == 1 ? AsAssignment(loop.body[0]) : std::nullopt;
  if (!set || set->kind != clang::BO_Assign || set->value == nullptr ||
      Mentions(loop.stmt, rows.variable) != 1)
    return false;
  for (const Rows::Element& element : rows.elements)
    if (code.IsWithin(element.whole, loop.stmt))
      return code.IsWithin(element.whole, set->target) && IsRow(code, element.row, loop.var, 0) &&
             code.Constant(element.column).has_value();
  return false;
}

std::optional<Rolled> RolledOf(const FunctionCode& code, const Rows& rows, const Loop& loop) {
  // The rows are declared beside it, and the first of its turns has row 0 before it.
  if (code.Parent(loop.stmt) != code.Parent(rows.declaration) || code.Constant(loop.first) != 1)
    return std::nullopt;
  Rolled rolled{&loop, {}};
  for (const Loop& other : code.loops())
    if (&other != &loop && code.Parent(other.stmt) == code.Parent(loop.stmt) &&
        code.End(other.stmt) <= code.Begin(loop.stmt) && SetsColumn(code, other, rows))
      rolled.columns.push_back(&other);
  bool both = false;
  for (const Rows::Element& element : rows.elements) {
    const bool of_column =
        std::any_of(rolled.columns.begin(), rolled.columns.end(),
                    [&](const Loop* column) { return code.IsWithin(element.whole, column->stmt); });
    if (of_column) continue;
    if (code.IsWithin(element.whole, loop.stmt)) {
      both = both || IsRow(code, element.row, loop.var, 1);
      if (!IsRow(code, element.row, loop.var, 0) && !IsRow(code, element.row, loop.var, 1))
        return std::nullopt;
    } else if (code.End(element.whole) <= code.Begin(loop.stmt)) {
      if (code.Constant(element.row) != 0) return std::nullopt;
    } else if (!loop.inclusive || code.Text(element.row) != code.Text(loop.last)) {
      return std::nullopt;
    }
  }
  return both ? std::optional(rolled) : std::nullopt;
}

// The texts of a column's loop with another counter: "row[0] = i;".
std::string ColumnText(const FunctionCode& code, const Rows& rows, const Loop& column,
                       const std::string& row, const std::string& counter) {
  Edits edits;
  code.Replace(column.stmt->getBody(), column.var, counter, &edits);
  for (const Rows::Element& element : rows.elements) {
    if (!code.IsWithin(element.whole, column.stmt)) continue;
    Override(&edits, ElementEdit(code, element, row + "[" + code.Text(element.column) + "]"));
  }
  return code.Text(column.body, edits);
}

void AddTwoRows(const FunctionCode& code, const Rows& rows, const Rolled& rolled,
                Rewrites* rewrites) {
  const Loop& loop = *rolled.loop;
  const std::string row = code.Fresh({"row", "this_row", "row_here"});
  const std::string before = code.Fresh({"before", "row_before", "last_row"});
  Edits inside;
  Edits whole;
  for (const Rows::Element& element : rows.elements) {
    const std::string column = "[" + code.Text(element.column) + "]";
    if (code.IsWithin(element.whole, loop.stmt))
      inside.push_back(ElementEdit(
          code, element, (IsRow(code, element.row, loop.var, 0) ? row : before) + column));
    else if (std::none_of(rolled.columns.begin(), rolled.columns.end(), [&](const Loop* each) {
               return code.IsWithin(element.whole, each->stmt);
             }))
      whole.push_back(ElementEdit(code, element, before + column));
  }
  std::string first;
  std::string turn;
  for (const Loop* column : rolled.columns) {
    first += ColumnText(code, rows, *column, before, code.Text(column->first));
    turn += ColumnText(code, rows, *column, row, loop.var->getNameAsString());
    whole.push_back(code.Instead(column->stmt, ""));
  }
  const std::string made = "(" + code.Text(rows.width) + ValueBehind(code, rows) + ")";
  whole.push_back(code.Instead(rows.declaration, rows.type + " " + before + made + ";\n" +
                                                     rows.type + " " + row + made + ";\n" + first));
  whole.push_back(code.Instead(loop.stmt, code.Head(loop) + " {\n" + turn +
                                              code.Text(loop.body, inside) + before + ".swap(" +
                                              row + ");\n}"));
  rewrites->push_back({"two rows", code.Source(whole)});
}

}  // namespace

void RowsInOneArray(const FunctionCode& code, Rewrites* rewrites) {
  for (const Rows& rows : AllRows(code)) {
    if (!ElementsHoldNoOther(rows)) continue;
    const std::string name = rows.variable->getNameAsString();
    const std::string width = code.Fresh({"width", "stride", "row_size"});
    Edits edits = {code.Instead(
        rows.declaration, "const int " + width + " = " + code.Text(rows.width) + ";\n" + rows.type +
                              " " + name + "(" + code.Operand(rows.height) + " * " + width +
                              ValueBehind(code, rows) + ");")};
    for (const Rows::Element& element : rows.elements)
      edits.push_back(ElementEdit(code, element,
                                  name + "[" + code.Operand(element.row) + " * " + width + " + " +
                                      code.Operand(element.column) + "]"));
    rewrites->push_back({"rows in one array", code.Source(edits)});
  }
}

void KeepTwoRows(const FunctionCode& code, Rewrites* rewrites) {
  for (const Rows& rows : AllRows(code)) {
    if (!ElementsHoldNoOther(rows)) continue;
    for (const Loop& loop : code.loops())
      if (const std::optional<Rolled> rolled = RolledOf(code, rows, loop))
        AddTwoRows(code, rows, *rolled, rewrites);
  }
}

}  // namespace whetstone
