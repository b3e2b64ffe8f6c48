#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr int64_t kIndexBitsMax = 12;
constexpr int64_t kEntriesMax = int64_t{1} << kIndexBitsMax;  // of one copy of a table
constexpr int64_t kBitsOfByte = 8;
constexpr int64_t kTurnsOfTable = 256;

// How many values an index can have, as far as its form tells: that of a byte, a mask or a
// remainder.
std::optional<int64_t> ValuesOf(const FunctionCode& code, const clang::Expr* index) {
  const clang::Expr* bare = index->IgnoreParens();
  while (true) {
    const clang::QualType type = bare->getType();
    if (type->isBooleanType()) return 2;
    if (type->isUnsignedIntegerType() && code.context().getTypeSize(type) == 8) return 256;
    const auto* cast = dyn_cast<clang::CastExpr>(bare);
    if (cast == nullptr) break;
    bare = cast->getSubExpr()->IgnoreParens();
  }
  const auto* binary = dyn_cast<clang::BinaryOperator>(bare);
  const std::optional<int64_t> constant =
      binary == nullptr ? std::nullopt : code.Constant(binary->getRHS());
  if (!constant) return std::nullopt;
  if (binary->getOpcode() == clang::BO_And) return *constant + 1;
  if (binary->getOpcode() == clang::BO_Rem) return *constant;
  const clang::QualType type = binary->getLHS()->IgnoreParenCasts()->getType();
  if (binary->getOpcode() != clang::BO_Shr || !type->isUnsignedIntegerType()) return std::nullopt;
  const int64_t bits = static_cast<int64_t>(code.context().getTypeSize(type)) - *constant;
  if (*constant < 0 || bits < 1 || bits > kIndexBitsMax) return std::nullopt;
  return int64_t{1} << bits;
}

// How many entries a loop can count in: those that its index can name, and that the table has.
std::optional<int64_t> EntriesOf(const FunctionCode& code, const clang::ArraySubscriptExpr* entry) {
  const std::optional<int64_t> values = ValuesOf(code, entry->getIdx());
  const clang::VarDecl* table = NamedVariable(entry->getBase());
  if (!values || table == nullptr || !entry->getType()->isArithmeticType()) return std::nullopt;
  const auto* array = code.context().getAsConstantArrayType(table->getType());
  if (array == nullptr) return values;
  return std::min<int64_t>(*values, static_cast<int64_t>(array->getSize().getZExtValue()));
}

// An entry of a table that a loop's turn adds to: table[index of this turn] += value.
struct Counted {
  const clang::ArraySubscriptExpr* entry = nullptr;
  int64_t entries = 0;
};

// What a loop counts, if it does nothing else.
std::optional<Counted> CountedBy(const FunctionCode& code, const Loop& loop) {
  std::optional<Counted> counted;
  for (const clang::Stmt* stmt : loop.body) {
    if (isa<clang::DeclStmt>(stmt)) continue;
    const std::optional<Assignment> assignment = AsAssignment(stmt);
    if (!assignment || assignment->kind != clang::BO_AddAssign || counted) return std::nullopt;
    const auto* entry = dyn_cast<clang::ArraySubscriptExpr>(assignment->target);
    const std::optional<int64_t> entries = entry == nullptr ? std::nullopt : EntriesOf(code, entry);
    if (!entries || *entries < 2 || *entries > kEntriesMax) return std::nullopt;
    counted = Counted{entry, *entries};
  }
  return counted;
}

void CountInSeveral(const FunctionCode& code, const Loop& loop, const Counted& counted, int count,
                    Rewrites* rewrites) {
  const std::string part = code.Fresh({"part", "parts", "copies"});
  const std::string entry = code.Fresh({"v", "entry", "at"});
  const std::string all = code.Fresh({"all", "sum", "together"});
  const std::string size = std::to_string(count);
  const std::string entries = std::to_string(counted.entries);
  const std::string type = code.Type(counted.entry);
  const std::string table = code.Text(counted.entry->getBase());
  std::string group;
  std::string joined;
  for (int copy = 0; copy < count; ++copy) {
    const std::string own = part + "[" + std::to_string(copy) + "]";
    Edits edits = {code.Instead(counted.entry->getBase(), own)};
    if (copy > 0)
      code.Replace(loop.stmt->getBody(), loop.var,
                   loop.var->getNameAsString() + " + " + std::to_string(copy), &edits);
    const std::string turn = code.Text(loop.body, edits);
    group += loop.body.size() == 1 ? turn : "{\n" + turn + "}\n";
    joined += (copy > 0 ? " + " : "") + own + "[" + entry + "]";
  }
  // An index may have values that the table has no entry for, as long as no turn has them.
  const std::string text = type + " " + part + "[" + size + "][" + entries + "] = {};\n" +
                           code.InGroups(loop, count, group) + "\nfor (int " + entry + " = 0; " +
                           entry + " < " + entries + "; " + entry + "++) {\nconst " + type + " " +
                           all + " = " + joined + ";\nif (" + all + " != 0) {\n" + table + "[" +
                           entry + "] += " + all + ";\n}\n}";
  rewrites->push_back(
      {size + " tables", code.Source({code.Instead(loop.stmt, code.WithCounter(loop, text))})});
}

// The word that a loop of eight turns takes a byte's steps with, if it changes nothing else.
const clang::VarDecl* SteppedWord(const FunctionCode& code, const Loop& loop) {
  const std::optional<int64_t> first = code.Constant(loop.first);
  const std::optional<int64_t> last = code.Constant(loop.last);
  const clang::Stmt* body = loop.stmt->getBody();
  if (!first || !last || *last - *first + (loop.inclusive ? 1 : 0) != kBitsOfByte ||
      Has<clang::CallExpr, clang::ReturnStmt, clang::BreakStmt, clang::ArraySubscriptExpr>(body))
    return nullptr;
  const Variables changed = ChangedOutside(body);
  if (changed.size() != 1 || Used(body).count(loop.var) > 0) return nullptr;
  const clang::VarDecl* word = *changed.begin();
  const bool fits = word->getType()->isUnsignedIntegerType() &&
                    code.context().getTypeSize(word->getType()) >= kBitsOfByte;
  return fits ? word : nullptr;
}

// The outermost loop around a loop's, before which a table of what the loop makes of a byte can be
// made; null: none.
const clang::Stmt* PlaceOfTable(const FunctionCode& code, const Loop& loop,
                                const clang::VarDecl* word) {
  const clang::Stmt* outermost = nullptr;
  for (const clang::Stmt* around = code.Parent(loop.stmt); around != nullptr;
       around = code.Parent(around))
    if (isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(around)) outermost = around;
  if (outermost == nullptr) return nullptr;
  // A loop that makes such a table needs none.
  const Loop* turns = code.LoopOf(outermost);
  if (turns != nullptr && code.Constant(turns->last).value_or(kTurnsOfTable + 1) <= kTurnsOfTable)
    return nullptr;
  const Variables inside = ChangedOrDeclared(outermost);
  Variables needed = Used(loop.stmt->getBody());
  needed.erase(word);
  for (const clang::VarDecl* own : Declared(loop.stmt->getBody())) needed.erase(own);
  return Share(needed, inside) ? nullptr : outermost;
}

}  // namespace

void SeveralTables(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops())
    if (const std::optional<Counted> counted = CountedBy(code, loop))
      for (const int count : {2, 4, 8}) CountInSeveral(code, loop, *counted, count, rewrites);
}

void StepByTable(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const clang::VarDecl* word = SteppedWord(code, loop);
    const clang::Stmt* place = word == nullptr ? nullptr : PlaceOfTable(code, loop, word);
    if (place == nullptr) continue;
    const std::string name = word->getNameAsString();
    const std::string type = code.Type(word);
    const std::string table = code.Fresh({"table", "steps", "of_byte"});
    const std::string byte = code.Fresh({"v", "byte", "index"});
    const std::string made = code.Fresh({"w", "word", "made"});
    Edits own;
    code.Replace(loop.stmt, word, made, &own);
    const auto bits = static_cast<int64_t>(code.context().getTypeSize(word->getType()));
    const std::string shift = std::to_string(bits - kBitsOfByte);
    for (const bool lowest_first : {true, false}) {
      const std::string from = lowest_first ? byte : "(" + type + ")" + byte + " << " + shift;
      const std::string of_word = lowest_first ? name + " & 255" : name + " >> " + shift;
      const std::string others = bits == kBitsOfByte ? ""
                                 : lowest_first      ? " ^ (" + name + " >> 8)"
                                                     : " ^ (" + name + " << 8)";
      const Edits edits = {
          code.Instead(loop.stmt, name + " = " + table + "[" + of_word + "]" + others + ";")};
      rewrites->push_back(
          {"a byte's steps by table",
           code.Source({code.Instead(
               place, type + " " + table + "[256];\nfor (int " + byte + " = 0; " + byte +
                          " < 256; " + byte + "++) {\n" + type + " " + made + " = " + from + ";\n" +
                          code.Text(loop.stmt, own) + "\n" + table + "[" + byte + "] = " + made +
                          ";\n}\n" + code.Text(place, edits))})});
    }
  }
}

}  // namespace whetstone
