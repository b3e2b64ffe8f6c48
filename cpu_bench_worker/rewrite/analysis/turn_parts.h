// The parts of a loop's turns: statements, and what they need of each other.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TURN_PARTS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TURN_PARTS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// Whether a statement of a loop's turn may stand elsewhere, as far as jumps and calls go: what it
// calls only returns a value and writes to what it is given for that.
bool IsMovable(const FunctionCode& code, const clang::Stmt* stmt);

// A statement of a turn, or one of the variables that it declares.
struct Piece {
  const clang::Stmt* stmt = nullptr;
  const clang::VarDecl* variable = nullptr;  // null: a statement that declares none
  Variables named;                           // all that are declared elsewhere
  Variables written;                         // these too
  bool movable = true;
  bool takes_long = false;
};

// What the statements of a turn, or of another block, do.
std::vector<Piece> PiecesOf(const FunctionCode& code,
                            const std::vector<const clang::Stmt*>& statements);
// What is written of a piece where it stands alone.
std::string TextOf(const FunctionCode& code, const Piece& piece, const Edits& edits);

// A smallest part of a turn that has all that it needs of the turn (a backward slice), by the
// places of its pieces.
using PartPlaces = std::set<size_t>;
PartPlaces PartWith(const std::vector<Piece>& pieces, size_t place);

// What a part leaves to the rest of its turn, where that takes what took long from elsewhere.
struct PartUse {
  PartPlaces gone;                             // what the rest has no need of
  std::vector<const clang::VarDecl*> results;  // what it takes instead
};
// Nothing, if the rest takes nothing from it, or while it is not done.
std::optional<PartUse> UseOf(const std::vector<Piece>& pieces, const PartPlaces& part);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TURN_PARTS_H_
