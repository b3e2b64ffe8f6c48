// Statements of a turn that can be done for all turns before a loop around theirs.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_DONE_PARTS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_DONE_PARTS_H_

#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"
#include "cpu_bench_worker/rewrite/analysis/turn_parts.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"

namespace whetstone {

// A part of a loop's turns, and how it can be done before a loop around that one.
struct DonePart {
  const Loop* loop = nullptr;
  const clang::Stmt* place = nullptr;  // the loop around
  size_t depth = 0;                    // how many there are around that one
  PartPlaces part;
  PartUse use;
  std::vector<Piece> between;      // declarations of loops in between that it needs
  std::vector<const Loop*> loops;  // whose counters it needs, outer ones first
  std::vector<Axis> axes;          // of its tables
  std::vector<Axis> filled = {};   // the same where they are filled
  Edits sums = {};                 // what makes one variable of two counters there
};

// The parts of the loop's turns that take long and need nothing but counters of loops within one
// around this one, or a sum of that one's: those that are done before the outermost loop first, and
// all that need the same as one before each of them.
std::vector<DonePart> DonePartsOf(const FunctionCode& code, const Loop& loop);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_DONE_PARTS_H_
