// These functions say how a problem's programs are compiled, wherever that happens: by the worker
// that measures them, and in a proof of what it measured.
#ifndef WHETSTONE_COMMON_PROBLEM_COMPILE_FLAGS_H_
#define WHETSTONE_COMMON_PROBLEM_COMPILE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Returns whether `flag` tunes the code and does not read files, load plugins or change what is
// written.
bool IsTuningFlag(absl::string_view flag);

// Returns whether it can stand between the brackets of an #include, and names no path of its own.
bool IsHeaderName(absl::string_view header);

// Returns the language, the problem's own flags, and those that every program has.
std::vector<std::string> CompileFlags(const v1::CompileRules& rules);

// Returns those of them that mean the same to clang where it only reads programs; the others steer
// how code is generated.
std::vector<std::string> ParserFlags(const v1::CompileRules& rules);

// Returns the compiler as compile.compiler names it: "g++" where it says nothing.
std::string CompilerName(const v1::CompileRules& rules);

// Returns the programs that a host may have as that compiler, of which the first that is there is
// taken; none for a name that is not known.
std::vector<std::string> CompilerPrograms(const std::string& name);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_COMPILE_FLAGS_H_
