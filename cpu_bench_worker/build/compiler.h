// Compiles sources into shared objects that a kernel process can load: g++ or clang++ in the
// sandbox, with the problem's allowed headers precompiled. A program that uses nothing of these is
// compiled without them (header_names.h).
//
//   ASSIGN_OR_RETURN(Compiler compiler, Compiler::Create(work_dir, {}));
//   ASSIGN_OR_RETURN(CompileConfig config, compiler.Prepare(problem.compile(), 10));
//   ASSIGN_OR_RETURN(std::string shim, compiler.CompileShim(config, shim_source));
//   CompileResult result = compiler.Compile(config, shim, source);
//
// Thread-safe: const after Create, except the table of precompiled headers, which has a lock.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_COMPILER_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_COMPILER_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cpu_bench_worker/build/header_names.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/build/tool_chain.h"
#include "sandbox/sandbox.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// What a set of headers became; the folder goes with the last config that uses it.
struct PrecompiledHeaders {
  std::unique_ptr<OwnedFolder> folder;  // on the host: allowed.h and bare.h, both precompiled
  HeaderNames names;                    // what allowed.h brings
};

// How one problem's sources are compiled.
struct CompileConfig {
  const ToolChain* tools = nullptr;  // of the Compiler that made the config
  std::vector<std::string> flags;    // code generation: the same for headers, shim and candidates
  std::shared_ptr<const PrecompiledHeaders> headers;
  std::chrono::milliseconds limit{10'000};
};

struct CompileResult {
  absl::Status status;  // not OK: our fault
  bool compiled = false;
  bool entry_missing = false;  // all compiled, but the problem's function isn't defined
  bool hosts = false;          // it did not, and the host may be the cause (MayBeTheHosts)
  std::string object;          // bytes of the shared object
  std::string object_hash;     // SHA-256 (hex) of object, flags and tool chain
  std::string diagnostics;     // first errors, without paths: "line 3: error: …"
};

class Compiler {
 public:
  // `work_dir` (on the host) keeps the precompiled headers; `cores` pins the compilers (empty:
  // any). FAILED_PRECONDITION: no g++.
  static absl::StatusOr<std::unique_ptr<Compiler>> Create(const std::string& work_dir,
                                                          const std::vector<int>& cores);

  // Precompiles the allowed headers of `rules` and, behind them, `structs`
  // (common/problem/struct_type.h), once per set of flags and text. INVALID_ARGUMENT: a header,
  // struct or flag that the compiler refuses. FAILED_PRECONDITION: a compiler that is not here.
  // UNAVAILABLE, as of all methods: a fault of this host's.
  absl::StatusOr<CompileConfig> Prepare(const v1::CompileRules& rules, double compile_s,
                                        const std::string& structs = "");
  // Compiles the trusted entry to an object file. INVALID_ARGUMENT with the compiler's message:
  // signature and arguments disagree.
  absl::StatusOr<std::string> CompileShim(const CompileConfig& config, const std::string& source);
  // Compiles `source` and links it with the shim object. One that is an error without the allowed
  // headers is compiled with them as well, so it may take the config's limit twice.
  CompileResult Compile(const CompileConfig& config, const std::string& shim_object,
                        const std::string& source, const std::string& function) const;

  // UNAVAILABLE: precompiled headers that are in use are not where they were.
  absl::Status Check();

  // The compilers of this host, g++ first.
  const std::vector<ToolChain>& tool_chains() const { return tools_; }

 private:
  Compiler(std::string work_dir, std::vector<int> cores)
      : work_dir_(std::move(work_dir)), cores_(std::move(cores)) {}
  SandboxSpec BaseSpec(std::chrono::milliseconds limit) const;
  absl::StatusOr<std::shared_ptr<const PrecompiledHeaders>> MakeHeaders(
      const CompileConfig& config, const v1::CompileRules& rules, const std::string& structs) const;
  // Returns what the compiler makes of a header that `spec` holds, with `arguments` behind the
  // flags.
  absl::StatusOr<std::string> CompileHeader(const CompileConfig& config, SandboxSpec spec,
                                            const std::vector<std::string>& arguments) const;
  // Compiles and links behind `header` of the config's folder.
  absl::StatusOr<SandboxResult> Link(const CompileConfig& config, const char* header,
                                     const std::string& shim_object,
                                     const std::string& source) const;

  const std::string work_dir_;
  const std::vector<int> cores_;
  std::vector<ToolChain> tools_;
  std::mutex mutex_;
  // By hash of flags and headers, as long as a config uses them.
  std::map<std::string, std::weak_ptr<const PrecompiledHeaders>> headers_;
};

// The text of allowed.h: the problem's headers, <cstddef> and <cstdint> always, and its structs.
// For rules without headers it is the text of bare.h.
std::string AllowedHeaderText(const v1::CompileRules& rules, const std::string& structs);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_COMPILER_H_
