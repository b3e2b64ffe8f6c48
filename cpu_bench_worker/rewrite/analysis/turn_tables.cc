#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"

#include "clang/AST/ExprCXX.h"

namespace whetstone {
namespace {

constexpr int64_t kTableMax = 4096;  // of a table on the stack
constexpr int64_t kUnusedMax = 8;    // entries before the counter's first value

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

}  // namespace

std::string From(const std::string& name, int64_t first) {
  if (first == 0) return name;
  return name + (first < 0 ? " + " + std::to_string(-first) : " - " + std::to_string(first));
}

std::optional<Entries> EntriesOf(const FunctionCode& code, const BeforeLoop& before,
                                 const std::vector<const Loop*>& loops) {
  for (const Loop* loop : loops)
    if (!before.NeedsNothing(loop->first) || !before.NeedsNothing(loop->last)) return std::nullopt;
  if (const std::optional<Entries> known = KnownEntries(code, loops)) return known;
  Entries entries{.known = false, .size = "", .index = ""};
  for (const Loop* loop : loops) {
    const std::string name = loop->var->getNameAsString();
    const std::string end = before.Operand(loop->last, {}) + (loop->inclusive ? " + 1" : "");
    const std::string start = before.Operand(loop->first, {});
    // The entries before a small first value stay unused. A loop without turns may end below 0.
    const std::optional<int64_t> first = code.Constant(loop->first);
    const bool unused = first && *first >= 0 && *first <= kUnusedMax;
    const std::string count = unused ? end : end + " - " + start;
    const std::string size = end + " > " + (unused ? "0" : start) + " ? " + count + " : 0";
    const std::string place = unused ? name : name + " - " + start;
    entries.size = entries.size.empty() ? size : "(long)(" + entries.size + ") * (" + size + ")";
    entries.index = entries.index.empty()
                        ? place
                        : "(long)(" + entries.index + ") * (" + count + ") + " + place;
  }
  return entries;
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
