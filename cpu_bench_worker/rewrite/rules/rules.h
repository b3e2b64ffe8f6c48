// The rules of rewriting: classical transformations of loops, reductions, branches and known idioms
// (Bacon, Graham and Sharp, "Compiler Transformations for High-Performance Computing", 1994). Each
// adds what it makes of every place where it fits.
//
// A rule looks whether what it does makes sense, not whether it is allowed: arrays may overlap,
// sums may round otherwise, a loop may not be sorted as it supposes. What it makes is a candidate
// like any other, to be checked and measured.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_RULES_RULES_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_RULES_RULES_H_

#include <set>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

struct Rewrite {
  std::string rule;    // "exchanged loops"
  std::string source;  // the whole program
};
using Rewrites = std::vector<Rewrite>;

// Calls (call_rules.cc).
// A call of one of the program's own functions is replaced by what that function does (inlining),
// where other rules see it.
void InlineCalls(const FunctionCode& code, Rewrites* rewrites);
// Lambdas that are only called become functions, with what they capture as parameters
// (lambda_rules.cc).
void LambdasApart(const FunctionCode& code, Rewrites* rewrites);
// A function that is called several times with the same arguments, within a few statements that do
// not change them, is called once (alike_rules.cc).
void CallOnce(const FunctionCode& code, Rewrites* rewrites);

// Loops (loop_rules.cc).
// A loop whose body is one loop changes places with it.
void ExchangeLoops(const FunctionCode& code, Rewrites* rewrites);
// A loop around statements and loops: its turns run side by side within the inner loops, all of
// them or so many at a time, with an array for each variable of a turn (scalar expansion,
// distribution, interchange; with a few at a time, unroll and jam).
void RunTurnsSideBySide(const FunctionCode& code, Rewrites* rewrites);
// A guard's comparisons with a loop's counter become the loop's bounds.
void ClipBounds(const FunctionCode& code, Rewrites* rewrites);
// Where a guard holds for all turns of its loops, they run without it.
void SplitInterior(const FunctionCode& code, Rewrites* rewrites);

// Forms that other rules look for (scope_rules.cc, plain_rules.cc, form_rules.cc).
// Numbers that are declared for all of a function, and set anew wherever they are needed, are
// declared at each of these places, as variables of their own (live range splitting).
void DeclareWhereSet(const FunctionCode& code, Rewrites* rewrites);
// All loops that count up, whatever declares the counter, counts it and says where it ends, become
// loops as other rules know them.
void PlainLoops(const FunctionCode& code, Rewrites* rewrites);
// A loop that counts down counts up.
void CountUp(const FunctionCode& code, Rewrites* rewrites);
// A loop that begins at the counter of a loop around it (a window: j from i to i + 64) counts from
// 0.
void CountFromZero(const FunctionCode& code, Rewrites* rewrites);
// What a loop computes by an expensive function, within an assignment, has a variable of its own.
void NameCalls(const FunctionCode& code, Rewrites* rewrites);
// A turn's condition that calls a function of the program, which may write to what it is given, has
// a variable of its own, so that the call is a statement by itself.
void ConditionsInVariables(const FunctionCode& code, Rewrites* rewrites);
// A loop that shifts a word until it is 0 has a turn for each of its bits, as another loop can
// stand around it.
void TakeEveryBit(const FunctionCode& code, Rewrites* rewrites);
// A guard that is all another one does, but for declarations, becomes one with it, without a
// branch between them.
void JoinGuards(const FunctionCode& code, Rewrites* rewrites);

// Guards (guard_rules.cc).
// What a turn does only under conditions, as others than its own counters have them, or leaves by
// `continue`, stands below a guard that compares counters, as rules of loops want it.
void GuardByCounters(const FunctionCode& code, Rewrites* rewrites);
// A loop that leaves out one value of its counter (`if (j == i) continue;`) becomes one up to it
// and one from behind it.
void LeaveOutOneTurn(const FunctionCode& code, Rewrites* rewrites);
// Of guards that leave in the same way, and of what && or || joins, what costs little is asked
// before what takes long or calls a function of the program (order_rules.cc).
void CheapGuardsFirst(const FunctionCode& code, Rewrites* rewrites);

// Sums and the like (reduction_rules.cc).
// A sum, minimum or maximum over a loop is kept in several accumulators.
void SeveralAccumulators(const FunctionCode& code, Rewrites* rewrites);
// An element that a loop updates again and again is kept in a variable.
void KeepInVariable(const FunctionCode& code, Rewrites* rewrites);
// A variable that a loop counts up beside its own counter is computed from that one.
void CountFromCounter(const FunctionCode& code, Rewrites* rewrites);

// A sum that is kept in a wide type, of numbers that are known to be small, is taken in parts that
// an int has room for (narrow_rules.cc).
void SumInNarrowParts(const FunctionCode& code, Rewrites* rewrites);

// Containers (container_rules.cc).
// What a turn keeps in a vector or string of its own is kept in one that is there before the loop,
// with the memory that it has by then.
void KeepStorage(const FunctionCode& code, Rewrites* rewrites);
// A vector that every turn of a loop puts an element behind has its size before it.
void FillByPlace(const FunctionCode& code, Rewrites* rewrites);
// A loop through a vector counts its places, as other rules want it.
void RunByPlace(const FunctionCode& code, Rewrites* rewrites);

// What a function only copies, from arrays that it is given into containers and structs of its own,
// is read where it was given (copy_rules.cc).
void ReadWithoutCopy(const FunctionCode& code, Rewrites* rewrites);

// Structs (field_rules.cc).
// The fields of a local struct are variables of their own (scalar replacement), as other rules want
// them.
void FieldsInVariables(const FunctionCode& code, Rewrites* rewrites);

// Quotients (divisor_rules.cc).
// A loop whose turns ask for their counter's quotient or remainder by a small number runs over
// groups of so many turns.
void GroupByDivisor(const FunctionCode& code, Rewrites* rewrites);

// Values (value_rules.cc).
// The remainders of sums, as of neighbours in a circle, become comparisons and differences.
void RemaindersByComparison(const FunctionCode& code, Rewrites* rewrites);
// A loop over such a circle leaves its first and last turn to loops of their own; between them no
// neighbour is at the other end.
void CutCircles(const FunctionCode& code, Rewrites* rewrites);
// The remainder of a multiple of the counter is counted along from turn to turn.
void CountRemainders(const FunctionCode& code, Rewrites* rewrites);
// A division by what a loop does not change is a product with its inverse.
void MultiplyByInverse(const FunctionCode& code, Rewrites* rewrites);
// What a turn hands to the next one is computed there again, so that turns need nothing of each
// other.
void LookBack(const FunctionCode& code, Rewrites* rewrites);
// A function of the C library of what a loop does not change (sqrt(s)) is called before it.
void HoistCalls(const FunctionCode& code, Rewrites* rewrites);
// Distances are compared without their roots (root_rules.cc): d < r as d * d < r * r, where nothing
// else needs the root; the root of the best one is taken behind the search.
void CompareSquares(const FunctionCode& code, Rewrites* rewrites);
// Small powers become products.
void MultiplyPowers(const FunctionCode& code, Rewrites* rewrites);
// A loop's end that calls a function (strlen) is computed before it.
void EndComputedOnce(const FunctionCode& code, Rewrites* rewrites);

// Expensive functions (tabulate_rules.cc, carry_rules.cc).
// What an inner loop computes expensively of its own counter alone is computed once for each of its
// values, into a table, before the outer loop.
void TabulateTurns(const FunctionCode& code, Rewrites* rewrites);
// The same of statements of a turn, which may write to several variables and arrays of the turn's
// own (part_rules.cc).
void TabulateParts(const FunctionCode& code, Rewrites* rewrites);
// What is computed at length of an array's element, wherever that is read, is computed once for
// each element, into a table before all loops, where it is known how many there are
// (element_rules.cc).
void TabulateElements(const FunctionCode& code, Rewrites* rewrites);
// What a turn computes at length of one whole number that it is given is computed once for each
// number between the smallest and the largest, into a table, before the loop
// (value_table_rules.cc).
void TabulateValues(const FunctionCode& code, Rewrites* rewrites);
// exp, sin and cos of what grows by the same step from turn to turn are carried along: exp(a + i *
// d) is the last one times exp(d); sine and cosine turn by an angle.
void CarryAlong(const FunctionCode& code, Rewrites* rewrites);

// Windows (window_rules.cc).
// A sum over a window that moves along is that of the turn before, and what came in and went out.
void MoveSums(const FunctionCode& code, Rewrites* rewrites);
// The same where a loop looks back from each turn, or ahead, until a condition ends it: how far it
// reaches moves along too (two pointers).
void MoveReaches(const FunctionCode& code, Rewrites* rewrites);

// A sum over any range of a loop's turns is the difference of two sums from the beginning, which a
// table has (prefix_rules.cc).
void SubtractSums(const FunctionCode& code, Rewrites* rewrites);
// A window in two dimensions is taken a column at a time (column_rules.cc): each column's part of
// it once, and for each turn the columns of its own window (separable filters).
void TakeColumns(const FunctionCode& code, Rewrites* rewrites);

// Sums that are computed again and again (once_rules.cc).
// A loop that computes the same in every turn of a loop around it is done once, before that one, or
// once for each turn of the loops between them, into a table.
void DoLoopsOnce(const FunctionCode& code, Rewrites* rewrites);
// Statements of a turn that do the same in every turn (a helper's beginning, once it stands in the
// place of its call) are done before the loop.
void MoveBefore(const FunctionCode& code, Rewrites* rewrites);
// What all products of a sum are multiplied by is multiplied with the sum.
void FactorOut(const FunctionCode& code, Rewrites* rewrites);

// Borders (border_rules.cc, pad_rules.cc).
// Where turns at the border do something else than all others, the others have loops of their own,
// which never ask where they are.
void BorderApart(const FunctionCode& code, Rewrites* rewrites);
// What is read of places that are sums of counters, and replaced beyond the border by what is there
// or by 0, is read from a copy with a border (padding, ghost cells).
void PadReads(const FunctionCode& code, Rewrites* rewrites);

// Tables (table_rules.cc).
// What a loop counts in a table is counted in several, by turns (privatization).
void SeveralTables(const FunctionCode& code, Rewrites* rewrites);
// Eight steps of a word, as of a checksum, are one step by a table of bytes.
void StepByTable(const FunctionCode& code, Rewrites* rewrites);

// Searches (match_rules.cc, search_rules.cc).
// A loop that does nothing where a key is not equal to a value only visits those where it is, which
// a table has by the keys' hashes (hash join).
void OnlyMatches(const FunctionCode& code, Rewrites* rewrites);
// A loop that counts how many of its keys are below a value, equal to it or above looks where it
// stands among the sorted keys.
void CountInOrder(const FunctionCode& code, Rewrites* rewrites);
// A loop that ends where it finds what it looks for goes on to its end, so that its turns need
// nothing of each other.
void SearchToTheEnd(const FunctionCode& code, Rewrites* rewrites);
// A loop that counts or adds up what is not negative, only for a comparison with a limit, ends
// where it is beyond that.
void GiveUpEarly(const FunctionCode& code, Rewrites* rewrites);
// A loop that keeps which one was the best keeps its value too.
void KeepBestValue(const FunctionCode& code, Rewrites* rewrites);
// Of what is sorted only to read one element, only that one is put in its place.
void TakeNth(const FunctionCode& code, Rewrites* rewrites);

// Rows (rows_rules.cc).
// A vector of vectors becomes one vector.
void RowsInOneArray(const FunctionCode& code, Rewrites* rewrites);
// Of a table that a loop fills row by row, of the row before, only two rows are kept.
void KeepTwoRows(const FunctionCode& code, Rewrites* rewrites);

// Branches (branch_rules.cc).
// Which turns put something at the end of an array is found first, without branches, a few hundred
// turns at a time (compaction).
void GatherFirst(const FunctionCode& code, Rewrites* rewrites);
// A chain of ifs that only counts adds up what each of them says.
void CountWithoutBranches(const FunctionCode& code, Rewrites* rewrites);
// Where two branches do the same with one element or another, only its place is chosen.
void ChooseThePlace(const FunctionCode& code, Rewrites* rewrites);

// Hints for the compiler (hint_rules.cc).
// A pragma before each innermost loop asks for several turns at a time.
void UnrollByPragma(const FunctionCode& code, Rewrites* rewrites);
// One before each innermost loop that writes to memory says that no turn needs what another wrote.
void IndependentTurnsByPragma(const FunctionCode& code, Rewrites* rewrites);
// The function's arrays do not overlap (__restrict).
void ArraysApart(const FunctionCode& code, Rewrites* rewrites);

// With these options of #pragma GCC optimize sums may be taken in any order.
inline constexpr char kSumsInAnyOrder[] = "\"fast-math\", \"no-finite-math-only\"";
// Calls of the libraries' functions of numbers in all of a program (number_call_rules.cc).
class NumberCalls {
 public:
  // Takes one of the program's functions, once.
  void Add(const FunctionCode& code);
  // exp, sin and the like are declared once more, as functions that set no errno and have a form
  // for vectors (glibc's libmvec), so that loops that call them are vectorised; once more with the
  // cosine of an angle whose sine is computed too as a sine. Proposes it for all that were added,
  // if one has a loop; `code` is of the same program.
  void ProposeVectors(const FunctionCode& code, Rewrites* rewrites) const;
  // Makes choices of std::max and std::min, and calls others by the compiler's own names: behind a
  // pragma that changes how numbers are computed GCC puts no function of a header in the place of
  // its call.
  const Edits& edits() const { return edits_; }

 private:
  void AddExpensive(const FunctionCode& code, const clang::CallExpr* call);
  void AddAsSine(const FunctionCode& code, const clang::CallExpr* call);
  // The same edits with cosines as sines.
  Edits WithSines(Edits edits) const;

  std::set<std::string> in_vectors_;      // "double exp(double) noexcept"
  std::set<std::string> by_instruction_;  // without such a form: "double sqrt(double) noexcept"
  Edits renamed_;                         // std::exp of a float to expf
  Edits as_sines_;                        // cos(x), beside sin(x), to sin(x + a quarter turn)
  Edits edits_;                           // these too
  bool has_loop_ = false;
};

// A pragma before the program: no one looks for errno and traps; sums may round otherwise; loops
// are unrolled; the compiler does less (its choices between branches and selections, and what it
// makes of several elements at a time, do not always pay). `calls` are those of the functions so
// far.
void OptimizeByPragma(const FunctionCode& code, const NumberCalls& calls, Rewrites* rewrites);

// Branches and idioms (idiom_rules.cc).
// An assignment under a condition becomes a conditional expression.
void SelectWithoutBranch(const FunctionCode& code, Rewrites* rewrites);
// A loop that looks for one value of its counter goes to it.
void GoToTheValue(const FunctionCode& code, Rewrites* rewrites);
// A loop ends where its condition first fails.
void EndEarly(const FunctionCode& code, Rewrites* rewrites);
// A loop that counts how far a condition holds begins where it ended the last time (two pointers).
void GoOnWhereItEnded(const FunctionCode& code, Rewrites* rewrites);
// What is computed of one byte is looked up in a table of all 256.
void TabulateBytes(const FunctionCode& code, Rewrites* rewrites);
// A loop that counts the bits of a word.
void CountBits(const FunctionCode& code, Rewrites* rewrites);
// A loop that counts up to a value computes it.
void CountInOneStep(const FunctionCode& code, Rewrites* rewrites);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_RULES_RULES_H_
