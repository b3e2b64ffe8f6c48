// Which programs use nothing of their problem's allowed headers. They mean the same without them,
// and the compiler is spared what it costs to load these.
//
//   const HeaderNames names(preprocessed_bare, preprocessed_allowed);  // -E -dD
//   if (!names.UsedBy(program)) ...  // compile it behind the bare header
//
// Why that is so: what a header brings is reached by a macro's name or by a name that is looked up
// from global scope: one declared there, or the namespace or class it lies in. (What an argument's
// type finds, its own members and friends included, needs that type to be named first.) A program
// with none of those words among its own can only miss what the language itself asks of a header,
// such as std::initializer_list: an error. Where a missing declaration would change the meaning in
// place of an error (`new`, `typeid`, `<=>` in a constraint, vector variants of a builtin), and
// where a word may be hidden (macros, whichever header has them, reserved words, `##`, raw strings,
// file names, stray bytes), a program counts as one that uses the headers.
//
// What it saves: g++ 12 takes 74 ms of processor time (19 of them the kernel's) for a small matrix
// product behind bare.h and 95 ms (31) behind <immintrin.h>, <algorithm> and <vector>, whose
// precompiled header has 47 MB instead of 4; medians of 60. Those 21 ms are a seventh of a verdict
// that stops early (150 ms, docs/performance.md). On a busy machine compiling took 350 ms without it
// and 270 with it, of verdicts of 550. To measure again: column `compile` of `faster` in
// `whet-worker bench --repeats 20`, alternately with a build in which UsedBy says true; or both
// compilations by hand, 20 times each, with the flags of Compiler::Link and
// getrusage(RUSAGE_CHILDREN).
//
// Its lexer and the screener's (screen/canonical.cc) are two on purpose: that one is clang's, which
// only whet-screener links, and knows no text that is unclear; this one gives up there.
//
// Immutable: any number of threads may ask.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_HEADER_NAMES_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_HEADER_NAMES_H_

#include <functional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

class HeaderNames {
 public:
  // The two headers as one compiler preprocesses them (-E -dD: macros and text); `allowed` begins
  // with what `bare` has. Errs to the side of too many names.
  HeaderNames(absl::string_view bare, absl::string_view allowed);

  // False: `program` means the same behind the bare header, or is an error there.
  bool UsedBy(absl::string_view program) const;

 private:
  bool used_by_all_ = false;  // a using-directive, an operator, or text that can't be read
  std::set<std::string, std::less<>> names_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_HEADER_NAMES_H_
