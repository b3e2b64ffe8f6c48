// Sums that loops around them compute again and again (loop-invariant code motion of reductions).
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/takings.h"
#include "cpu_bench_worker/rewrite/analysis/turn_parts.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// A loop that only takes values into variables that are declared just before it.
struct Block {
  const clang::Stmt* loop = nullptr;
  std::vector<const clang::Stmt*> declarations;
  std::vector<const clang::VarDecl*> results;
};

std::optional<Block> BlockOf(const FunctionCode& code, const clang::Stmt* loop) {
  const std::vector<const clang::Stmt*> around = StatementsOf(code.Parent(loop));
  const auto at = std::find(around.begin(), around.end(), loop);
  const std::vector<Taking> takings = TakingsOf(code, loop);
  if (at == around.end() || takings.empty()) return std::nullopt;
  Block block{.loop = loop, .declarations = {}, .results = {}};
  for (auto before = at; before != around.begin();) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(*--before);
    const auto* variable = declaration == nullptr || !declaration->isSingleDecl()
                               ? nullptr
                               : dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
    if (variable == nullptr || variable->getInit() == nullptr ||
        dyn_cast<clang::InitListExpr>(variable->getInit()) != nullptr ||
        !OnlyComputes(code, variable->getInit()) || variable->isStaticLocal() ||
        std::none_of(takings.begin(), takings.end(),
                     [&](const Taking& each) { return each.accumulator == variable; }))
      break;
    block.declarations.insert(block.declarations.begin(), declaration);
    block.results.insert(block.results.begin(), variable);
  }
  for (const Taking& each : takings)
    if (std::find(block.results.begin(), block.results.end(), each.accumulator) ==
        block.results.end())
      return std::nullopt;
  return CallsAreQuiet(code, loop) ? std::optional(block) : std::nullopt;
}

// Loops within a loop around a block, outer ones first: those whose counters it needs, and all.
struct Around {
  std::vector<const Loop*> needed;
  std::vector<const Loop*> all;
};

// Nothing, if the block needs the loop's own counter or anything else that changes in it, or is not
// done in every turn.
std::optional<Around> AroundBlock(const FunctionCode& code, const Loop& loop, const Block& block) {
  Variables used = Used(block.loop);
  for (const clang::VarDecl* result : block.results) used.merge(Used(result->getInit()));
  for (const clang::VarDecl* own : Declared(block.loop)) used.erase(own);
  for (const clang::VarDecl* result : block.results) used.erase(result);
  Around around;
  around.all.push_back(&loop);
  for (const Loop& each : code.loops()) {
    const bool between = each.stmt != loop.stmt && each.stmt != block.loop &&
                         code.Begin(each.stmt) > code.Begin(loop.stmt) &&
                         code.Begin(each.stmt) < code.Begin(block.loop) &&
                         code.End(each.stmt) >= code.End(block.loop);
    if (!between) continue;
    around.all.push_back(&each);
    if (used.erase(each.var) > 0) around.needed.push_back(&each);
  }
  if (Share(used, Varying(loop.stmt)) || MaySkip(code, around.all, block.loop)) return std::nullopt;
  return around;
}

// Does the block before the loop, once or for each of the turns that it needs.
void DoBefore(const FunctionCode& code, const Loop& loop, const Block& block, const Around& around,
              Rewrites* rewrites) {
  Entries entries{.known = true, .size = "", .index = ""};
  const BeforeLoop before(code, loop.stmt);
  if (!around.needed.empty()) {
    const std::optional<Entries> found = EntriesOf(code, before, around.needed);
    if (!found || (!found->known && LeavesFunction(loop.stmt))) return;
    entries = *found;
  }
  std::string tables;
  std::string deleted;
  std::string turn;
  for (const clang::Stmt* each : block.declarations) turn += code.Text(each) + "\n";
  turn += code.Text(block.loop) + "\n";
  Edits edits = {code.Instead(block.loop, "")};
  for (size_t i = 0; i < block.results.size(); ++i) {
    const clang::VarDecl* result = block.results[i];
    const std::string type = code.Type(result);
    const std::string name =
        NameOf(code, around.needed.empty() ? "once" : "table", i == 0 ? "" : std::to_string(i + 1));
    const std::string entry = around.needed.empty() ? name : name + "[" + entries.index + "]";
    tables += around.needed.empty() ? type + " " + name + ";\n" : TableOf(type, name, entries);
    deleted += around.needed.empty() ? "" : Deleted(name, entries);
    turn += entry + " = " + result->getNameAsString() + ";\n";
    edits.push_back({code.Begin(result->getInit()), code.End(result->getInit()), entry});
  }
  turn = "{\n" + turn + "}\n";
  for (auto each = around.needed.rbegin(); each != around.needed.rend(); ++each)
    turn =
        before.Head(**each) + " " + (each == around.needed.rbegin() ? turn : "{\n" + turn + "}\n");
  rewrites->push_back({"a loop done once for each",
                       code.Source({code.Instead(
                           loop.stmt, tables + turn + code.Text(loop.stmt, edits) + deleted)})});
}

// Whether it is worth moving: compilers move what is simpler themselves.
bool TakesLong(const clang::Stmt* stmt) { return HasLoop(stmt) || Has<clang::CallExpr>(stmt); }

// The statements of a turn that do the same in every turn: they write to nothing but what is
// declared among them, and need nothing that the others change.
std::vector<const clang::Stmt*> SameInEveryTurn(const FunctionCode& code, const Loop& loop) {
  Variables own;
  for (const clang::Stmt* stmt : loop.body)
    if (isa<clang::DeclStmt>(stmt)) own.merge(Declared(stmt));
  std::vector<const clang::Stmt*> same;
  for (const clang::Stmt* stmt : loop.body) {
    const Variables written = VaryingOutside(stmt);
    if (IsMovable(code, stmt) &&
        std::includes(own.begin(), own.end(), written.begin(), written.end()))
      same.push_back(stmt);
  }
  for (size_t before = same.size() + 1; same.size() < before;) {
    before = same.size();
    Variables others = {loop.var};
    for (const clang::Stmt* stmt : loop.body)
      if (std::find(same.begin(), same.end(), stmt) == same.end()) others.merge(Varying(stmt));
    const std::vector<const clang::Stmt*> moved = same;
    std::erase_if(same, [&](const clang::Stmt* stmt) {
      if (Share(Used(stmt), others) || Share(Varying(stmt), others)) return true;
      // One that stays sees what was before.
      const Variables written = VaryingOutside(stmt);
      return std::any_of(loop.body.begin(), loop.body.end(), [&](const clang::Stmt* each) {
        return code.Begin(each) < code.Begin(stmt) && Share(Used(each), written) &&
               std::find(moved.begin(), moved.end(), each) == moved.end();
      });
    });
  }
  return same;
}

// Whether no other variable of the function has the name of one that is declared there.
bool HaveOwnNames(const FunctionCode& code, const std::vector<const clang::Stmt*>& statements) {
  std::multiset<llvm::StringRef> names;
  for (const clang::VarDecl* each : Declared(code.body())) names.insert(each->getName());
  for (const clang::ParmVarDecl* each : code.parameters()) names.insert(each->getName());
  return std::all_of(statements.begin(), statements.end(), [&](const clang::Stmt* stmt) {
    const Variables declared = isa<clang::DeclStmt>(stmt) ? Declared(stmt) : Variables();
    return std::all_of(declared.begin(), declared.end(),
                       [&](const auto* each) { return names.count(each->getName()) == 1; });
  });
}

std::string ProductOf(const FunctionCode& code, const std::vector<const clang::Expr*>& factors) {
  std::string text;
  for (const clang::Expr* each : factors)
    text += (text.empty() ? "" : " * ") +
            (IsAtom(each) ? code.Text(each) : "(" + code.Text(each) + ")");
  return text;
}

}  // namespace

void DoLoopsOnce(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    if (!IsLoop(stmt)) continue;
    const std::optional<Block> block = BlockOf(code, stmt);
    if (!block) continue;
    // Before the outermost loop where it can be.
    for (const Loop& loop : code.loops()) {
      const bool around = loop.stmt != stmt && code.Begin(loop.stmt) < code.Begin(stmt) &&
                          code.End(loop.stmt) >= code.End(stmt);
      const std::optional<Around> found = around ? AroundBlock(code, loop, *block) : std::nullopt;
      if (!found) continue;
      DoBefore(code, loop, *block, *found, rewrites);
      break;
    }
  }
}

void MoveBefore(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::vector<const clang::Stmt*> same = SameInEveryTurn(code, loop);
    const size_t empty =
        static_cast<size_t>(std::count_if(loop.body.begin(), loop.body.end(), [](const auto* each) {
          return isa<clang::NullStmt>(each);
        }));
    if (same.size() + empty == loop.body.size() ||
        std::none_of(same.begin(), same.end(), TakesLong))
      continue;
    Edits edits;
    for (const clang::Stmt* stmt : same) edits.push_back({code.Begin(stmt), code.End(stmt), ""});
    const std::string text = code.Text(same, {}) + code.Text(loop.stmt, edits);
    rewrites->push_back(
        {"moved before the loop",
         code.Source({HaveOwnNames(code, same) ? code.WithOwn(loop.stmt, text)
                                               : code.Instead(loop.stmt, "{\n" + text + "\n}")})});
  }
}

void FactorOut(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::vector<Taking> takings = TakingsOf(code, loop.stmt->getBody());
    if (takings.size() != 1 || takings[0].kind != TakingKind::kSum) continue;
    const auto* addition = dyn_cast<clang::CompoundAssignOperator>(takings[0].stmt);
    if (addition == nullptr || addition->getOpcode() != clang::BO_AddAssign) continue;
    const Variables inside = Varying(loop.stmt);
    std::vector<const clang::Expr*> kept;
    std::vector<const clang::Expr*> changing;
    for (const clang::Expr* each : JoinedBy(clang::BO_Mul, addition->getRHS())) {
      const bool changes = Share(Used(each), inside) || !OnlyComputes(code, each);
      (changes ? changing : kept).push_back(each);
    }
    if (kept.empty() || changing.empty()) continue;
    // Where no turn adds anything what it is multiplied by may not be there.
    bool faults = false;
    for (const clang::Expr* each : kept)
      for (const clang::Stmt* below : Below(each)) faults = faults || MayFault(code, below);
    const std::string part = code.Fresh({"part", "part_of", "inner_sum"});
    const std::string sum = takings[0].accumulator->getNameAsString();
    const std::string text =
        "{\n" + code.Type(takings[0].accumulator) + " " + part + " = 0;\n" +
        code.Text(loop.stmt,
                  {code.Instead(addition, part + " += " + ProductOf(code, changing) + ";")}) +
        "\n" + (faults ? "if (" + part + " != 0) " : "") + sum + " += " + ProductOf(code, kept) +
        " * " + part + ";\n}";
    rewrites->push_back({"factored out of a sum", code.Source({code.Instead(loop.stmt, text)})});
  }
}

}  // namespace whetstone
