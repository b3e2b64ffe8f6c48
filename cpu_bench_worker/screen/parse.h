// Reads one program with clang and holds it to the rules. Not thread-safe; made for one process per
// program.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_PARSE_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_PARSE_H_

#include <functional>
#include <string>
#include <vector>

#include "cpu_bench_worker/screen/findings.h"

namespace clang {
class ASTContext;
class Decl;
}  // namespace clang

namespace whetstone {

// Precompiles `header_path` to `header_path`.pch. Returns clang's errors; empty on success.
std::string PrecompileHeader(const std::vector<std::string>& flags, const std::string& header_path);

// Writes `header_path`, which holds what programs of a problem may use without including it, and
// precompiles it, unless that was done before. Returns what is wrong with the problem; empty on
// success.
std::string PrecompileAllowed(const std::vector<std::string>& flags, const std::string& header_path,
                              const std::vector<std::string>& headers, const std::string& structs);

// The canonical type that `signature` declares; *error is set when it does not parse.
std::string SignatureType(const std::vector<std::string>& flags, const std::string& pch,
                          const std::string& signature, const std::string& function,
                          std::string* error);

ScreenFindings ParseProgram(const std::vector<std::string>& flags, const std::string& pch,
                            const ScreenRules& rules, const std::string& source);

// Calls `see` with the program's syntax tree and its top-level declarations, unless it does not
// parse. Returns clang's first error, or "".
std::string WithProgram(
    const std::vector<std::string>& flags, const std::string& pch, const std::string& source,
    const std::function<void(clang::ASTContext*, const std::vector<clang::Decl*>&)>& see);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_PARSE_H_
