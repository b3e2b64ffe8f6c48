// Statements of a turn that depend on nothing but counters within a loop (memoization).
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "clang/AST/Stmt.h"
#include "cpu_bench_worker/rewrite/analysis/done_parts.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

constexpr size_t kPartsMax = 4;       // of a function, that are proposed
constexpr int64_t kBytesMax = 32768;  // of a table on the stack

// What is made of one result: a table, what fills it, and what a turn takes.
struct ResultTable {
  std::string declared;
  std::string stored;
  std::string taken;
  std::string deleted;
};

ResultTable ResultTableOf(const FunctionCode& code, const DonePart& done,
                          const clang::VarDecl* result, const std::string& table) {
  Entries entries = EntriesOf(done.axes);
  const std::string filled = EntriesOf(done.filled).index;
  const std::string name = result->getNameAsString();
  const auto* array = code.context().getAsConstantArrayType(result->getType());
  const auto bytes = code.context().getTypeSizeInChars(result->getType()).getQuantity();
  entries.known = entries.known && std::stoll(entries.size) * bytes <= kBytesMax;
  if (array == nullptr) {
    const std::string type = code.Type(result);
    return {TableOf(type, table, entries), table + "[" + filled + "] = " + name + ";\n",
            "const " + type + " " + name + " = " + table + "[" + entries.index + "];",
            Deleted(table, entries)};
  }
  const std::string type = code.Type(array->getElementType());
  const int64_t extent = static_cast<int64_t>(array->getSize().getZExtValue());
  const std::string of_each = " * " + std::to_string(extent);
  const std::string index = table + " + (long)(" + entries.index + ")" + of_each;
  entries.size = entries.known ? std::to_string(std::stoll(entries.size) * extent)
                               : "(long)(" + entries.size + ")" + of_each;
  const std::string k = code.Fresh({"e", "entry"});
  return {TableOf(type, table, entries),
          "for (int " + k + " = 0; " + k + " < " + std::to_string(extent) + "; " + k + "++) {\n" +
              table + "[(long)(" + filled + ")" + of_each + " + " + k + "] = " + name + "[" + k +
              "];\n}\n",
          "const " + type + "* const " + name + " = " + index + ";", Deleted(table, entries)};
}

// What a piece is where tables are filled: nothing that they take is without a value.
std::string FillingText(const FunctionCode& code, const Piece& piece, const Edits& sums) {
  const clang::VarDecl* variable = piece.variable;
  if (variable != nullptr && variable->getInit() == nullptr &&
      variable->getType()->isArithmeticType())
    return code.Type(variable) + " " + variable->getNameAsString() + " = 0;\n";
  return TextOf(code, piece, sums) + "\n";
}

// Makes the tables before the loop.
void DoPartBefore(const FunctionCode& code, const DonePart& done, Rewrites* rewrites) {
  const std::vector<Piece> pieces = PiecesOf(code, done.loop->body);
  std::string declared;
  std::string deleted;
  std::string turn;
  for (const Piece& each : done.between) turn += FillingText(code, each, done.sums);
  for (const size_t each : done.part) turn += FillingText(code, pieces[each], done.sums);
  std::map<const clang::VarDecl*, std::string> taken;
  for (const clang::VarDecl* result : done.use.results) {
    const std::string suffix = taken.empty() ? "" : std::to_string(taken.size() + 1);
    const ResultTable made = ResultTableOf(code, done, result, NameOf(code, "table", suffix));
    declared += made.declared;
    deleted += made.deleted;
    turn += made.stored;
    taken[result] = made.taken;
  }
  if (!deleted.empty() && LeavesFunction(done.place)) return;
  for (auto axis = done.filled.rbegin(); axis != done.filled.rend(); ++axis)
    turn = axis->head + " {\n" + turn + "}\n";
  std::map<const clang::Stmt*, std::string> changed;
  for (const size_t gone : done.use.gone) changed[pieces[gone].stmt] = "";
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const auto at = changed.find(piece.stmt);
    if (at == changed.end()) continue;
    const auto result = taken.find(piece.variable);
    if (result != taken.end())
      at->second += result->second + "\n";
    else if (done.use.gone.count(i) == 0)
      at->second += TextOf(code, piece, {}) + "\n";
  }
  Edits edits;
  for (const auto& [stmt, text] : changed) edits.push_back(code.Instead(stmt, text));
  rewrites->push_back(
      {"a part done once for each",
       code.Source(
           {code.WithOwn(done.place, declared + turn + code.Text(done.place, edits) + deleted)})});
}

}  // namespace

void TabulateParts(const FunctionCode& code, Rewrites* rewrites) {
  if (Has<clang::GotoStmt, clang::LabelStmt>(code.body())) return;
  std::vector<DonePart> found;
  for (const Loop& loop : code.loops())
    for (DonePart& each : DonePartsOf(code, loop)) found.push_back(std::move(each));
  std::stable_sort(found.begin(), found.end(), [](const DonePart& left, const DonePart& right) {
    return left.depth < right.depth;
  });
  if (found.size() > kPartsMax) found.resize(kPartsMax);
  for (const DonePart& done : found) DoPartBefore(code, done, rewrites);
}

}  // namespace whetstone
