// The canonical form of a program: what stays when names, layout and comments are taken away. Two
// programs with one form are counted as one.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_CANONICAL_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_CANONICAL_H_

#include <set>
#include <string>
#include <vector>

namespace whetstone {

// Tokens separated by spaces; each identifier of `declared` becomes v0, v1, … in order of
// appearance; #include lines are dropped. Lexed raw: nothing is expanded.
std::string CanonicalText(const std::string& source, const std::set<std::string>& declared);

// The names that the program defines as macros, skipped regions included.
std::vector<std::string> MacrosOf(const std::string& source);

// The identifiers in `text`, in order.
std::vector<std::string> IdentifiersOf(const std::string& text);

// What in `source` (skipped regions included) looks at which compiler reads it, moves lines to
// another file, or spells assembly although `allow_asm` is false; empty if nothing does. The screen
// reads with clang what g++ compiles, so a program that tells them apart could show each another
// face.
std::string CompilerProbe(const std::string& source, bool allow_asm);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_CANONICAL_H_
