#include "cpu_bench_worker/build/compiler.h"

#include <unistd.h>

#include <algorithm>
#include <future>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/problem/compile_flags.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/diagnostics.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {
namespace {

constexpr char kHeaderMount[] = "/headers";
constexpr char kAllowedHeader[] = "allowed.h";
constexpr char kBareHeader[] = "bare.h";
// This limits every compilation but the candidate's.
constexpr std::chrono::seconds kOwnLimit{120};
constexpr int64_t kMemoryBytes = int64_t{2} << 30;
constexpr int64_t kHeaderBytesMax = int64_t{512} << 20;

std::string HowItEnded(const ToolChain& tools, const SandboxResult& result) {
  switch (result.exit) {
    case SandboxExit::kExited:
      return absl::StrCat(tools.name, " ended with code ", result.exit_code);
    case SandboxExit::kSignaled:
      return absl::StrCat("the compiler crashed (signal ", result.signal, ")");
    case SandboxExit::kWallLimit:
    case SandboxExit::kCpuLimit:
      return "compiling took longer than the problem allows";
    case SandboxExit::kMemoryLimit:
      return "compiling took more memory than allowed";
    case SandboxExit::kOutputLimit:
      return "the compiled program is larger than allowed";
  }
  return "";
}

absl::StatusOr<SandboxResult> RunInSandbox(const SandboxSpec& spec) {
  absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
  if (!result.ok()) return OurStatus(result.status());
  return result;
}

bool Succeeded(const SandboxResult& result) {
  return result.exit == SandboxExit::kExited && result.exit_code == 0;
}

}  // namespace

std::string AllowedHeaderText(const v1::CompileRules& rules, const std::string& structs) {
  std::string text = "#include <cstddef>\n#include <cstdint>\n";
  for (const std::string& header : rules.headers())
    absl::StrAppend(&text, "#include <", header, ">\n");
  return text + structs;
}

SandboxSpec Compiler::BaseSpec(std::chrono::milliseconds limit) const {
  SandboxSpec spec;
  spec.profile = Profile::kCompile;
  spec.env = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TMPDIR=/tmp"};
  spec.cores = cores_;
  spec.limits.wall = limit;
  spec.limits.cpu = limit;
  spec.limits.memory_bytes_max = kMemoryBytes;
  return spec;
}

absl::StatusOr<std::unique_ptr<Compiler>> Compiler::Create(const std::string& work_dir,
                                                           const std::vector<int>& cores) {
  std::unique_ptr<Compiler> compiler(new Compiler(work_dir, cores));
  for (ToolChain& tools : KnownToolChains()) {
    const auto there =
        std::find_if(tools.paths.begin(), tools.paths.end(),
                     [](const std::string& path) { return access(path.c_str(), X_OK) == 0; });
    if (there == tools.paths.end()) continue;
    tools.path = *there;
    SandboxSpec spec = compiler->BaseSpec(kOwnLimit);
    spec.argv = {tools.path, "--version"};
    ASSIGN_OR_RETURN(const SandboxResult result, Sandbox::Run(spec));
    if (!Succeeded(result))
      return absl::FailedPreconditionError(absl::StrCat(
          "'", tools.path, " --version' fails in the sandbox: ", HowItEnded(tools, result), "; ",
          result.stderr_text));
    tools.version = result.stdout_text.substr(0, result.stdout_text.find('\n'));
    compiler->tools_.push_back(std::move(tools));
  }
  if (compiler->tools_.empty() || compiler->tools_[0].name != "g++")
    return absl::FailedPreconditionError("no compiler at /usr/bin/g++; install the package g++");
  return compiler;
}

absl::StatusOr<CompileConfig> Compiler::Prepare(const v1::CompileRules& rules, double compile_s,
                                                const std::string& structs) {
  CompileConfig config;
  const std::string name = CompilerName(rules);
  for (const ToolChain& tools : tools_)
    if (tools.name == name) config.tools = &tools;
  if (config.tools == nullptr)
    return absl::FailedPreconditionError(absl::StrCat(
        "compile.compiler: this host has no ", name, "; install it there or use ", tools_[0].name));
  const ToolChain& tools = *config.tools;
  config.flags = CompileFlags(rules);
  config.limit = std::chrono::milliseconds(static_cast<int64_t>(compile_s * 1000));

  const std::string key =
      Sha256Hex(absl::StrCat(tools.version, "\n", absl::StrJoin(config.flags, "\n"), "\n",
                             AllowedHeaderText(rules, structs)));
  std::lock_guard<std::mutex> lock(mutex_);
  config.headers = headers_[key].lock();
  if (config.headers == nullptr) {
    std::erase_if(headers_, [](const auto& entry) { return entry.second.expired(); });
    ASSIGN_OR_RETURN(config.headers, MakeHeaders(config, rules, structs));
    headers_[key] = config.headers;
  }
  return config;
}

absl::Status Compiler::Check() {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status there;
  for (const auto& [key, kept] : headers_) {
    if (const auto headers = kept.lock()) there.Update(headers->folder->Check());
  }
  return there;
}

absl::StatusOr<std::shared_ptr<const PrecompiledHeaders>> Compiler::MakeHeaders(
    const CompileConfig& config, const v1::CompileRules& rules, const std::string& structs) const {
  ASSIGN_OR_RETURN(std::unique_ptr<OwnedFolder> folder, OwnedFolder::Make(work_dir_ + "/headers"));
  const std::string& dir = folder->path();
  const v1::CompileRules none;
  const auto precompile = [&](const char* name, const v1::CompileRules& of) -> absl::Status {
    RETURN_IF_ERROR(folder->Write(name, AllowedHeaderText(of, structs)));
    // The header is made where it is used, because clang++ looks for the text it came from.
    SandboxSpec spec = BaseSpec(kOwnLimit);
    spec.binds = {{dir, kHeaderMount}};
    ASSIGN_OR_RETURN(const std::string precompiled,
                     CompileHeader(config, spec, {absl::StrCat(kHeaderMount, "/", name)}));
    return folder->Write(absl::StrCat(name, config.tools->precompiled_suffix), precompiled);
  };
  // Returns the text that the compiler reads, less the structs, which are in both headers.
  const auto preprocess = [&](const char* name, const v1::CompileRules& of) {
    SandboxSpec spec = BaseSpec(kOwnLimit);
    spec.files = {{name, AllowedHeaderText(of, "")}};
    return CompileHeader(config, spec, {"-E", "-dD", absl::StrCat("/work/", name)});
  };
  // The rest is done beside the allowed headers, which take nearly all of the time.
  std::future<absl::Status> allowed_made =
      std::async(std::launch::async, [&] { return precompile(kAllowedHeader, rules); });
  const absl::Status bare_made = precompile(kBareHeader, none);
  const absl::StatusOr<std::string> bare = preprocess(kBareHeader, none);
  const absl::StatusOr<std::string> allowed = preprocess(kAllowedHeader, rules);
  for (const absl::Status& status :
       {allowed_made.get(), bare_made, bare.status(), allowed.status()}) {
    RETURN_IF_ERROR(status);
  }
  HeaderNames names(*bare, *allowed);
  return std::make_shared<const PrecompiledHeaders>(
      PrecompiledHeaders{std::move(folder), std::move(names)});
}

absl::StatusOr<std::string> Compiler::CompileHeader(
    const CompileConfig& config, SandboxSpec spec,
    const std::vector<std::string>& arguments) const {
  spec.limits.file_bytes_max = kHeaderBytesMax;
  spec.argv = {config.tools->path, "-x", "c++-header"};
  for (const auto* part : {&config.flags, &arguments})
    spec.argv.insert(spec.argv.end(), part->begin(), part->end());
  spec.argv.insert(spec.argv.end(), {"-o", "/work/made"});
  spec.collect = {"made"};
  ASSIGN_OR_RETURN(SandboxResult result, RunInSandbox(spec));
  const auto made = result.files.find("made");
  if (!Succeeded(result) || made == result.files.end())
    return ProblemStatus(
        MayBeTheHosts(result),
        absl::StrCat("compile: ", config.tools->name, " refuses the headers, types or flags: ",
                     HowItEnded(*config.tools, result), "\n", TrimDiagnostics(result.stderr_text)));
  return std::move(made->second);
}

absl::StatusOr<std::string> Compiler::CompileShim(const CompileConfig& config,
                                                  const std::string& source) {
  SandboxSpec spec = BaseSpec(kOwnLimit);
  spec.argv = {config.tools->path, "-pipe", "-c"};
  spec.argv.insert(spec.argv.end(), config.flags.begin(), config.flags.end());
  spec.argv.insert(spec.argv.end(), {"-include", absl::StrCat(kHeaderMount, "/", kAllowedHeader),
                                     "/work/shim.cc", "-o", "/work/shim.o"});
  // g++ silently ignores a precompiled header that doesn't fit, and every candidate is slow. (To
  // clang++ it is an error.)
  spec.argv.erase(std::remove(spec.argv.begin(), spec.argv.end(), "-w"), spec.argv.end());
  if (config.tools->name == "g++")
    spec.argv.insert(spec.argv.end(), {"-Winvalid-pch", "-Werror=invalid-pch"});
  spec.binds = {{config.headers->folder->path(), kHeaderMount}};
  spec.files = {{"shim.cc", source}};
  spec.collect = {"shim.o"};
  ASSIGN_OR_RETURN(SandboxResult result, RunInSandbox(spec));
  if (!Succeeded(result) || result.files.count("shim.o") == 0)
    return ProblemStatus(MayBeTheHosts(result),
                         absl::StrCat("signature or args: ", HowItEnded(*config.tools, result),
                                      "\n", TrimDiagnostics(result.stderr_text)));
  return std::move(result.files.at("shim.o"));
}

absl::StatusOr<SandboxResult> Compiler::Link(const CompileConfig& config, const char* header,
                                             const std::string& shim_object,
                                             const std::string& source) const {
  SandboxSpec spec = BaseSpec(config.limit);
  spec.argv = {config.tools->path, "-pipe"};
  for (const auto* flags : {&config.flags, &config.tools->diagnostics})
    spec.argv.insert(spec.argv.end(), flags->begin(), flags->end());
  spec.argv.insert(
      spec.argv.end(),
      {"-include", absl::StrCat(kHeaderMount, "/", header), "/work/candidate.cc", "/work/shim.o",
       "-shared", "-s", "-Wl,-z,defs,-z,now,--build-id=none,--version-script=/work/exports", "-o",
       "/work/kernel.so"});
  spec.binds = {{config.headers->folder->path(), kHeaderMount}};
  spec.files = {{"candidate.cc", source},
                {"shim.o", shim_object},
                {"exports", "{ global: whet_entry; local: *; };\n"}};
  spec.collect = {"kernel.so"};
  return RunInSandbox(spec);
}

CompileResult Compiler::Compile(const CompileConfig& config, const std::string& shim_object,
                                const std::string& source, const std::string& function) const {
  CompileResult out;
  const ToolChain& tools = *config.tools;
  const bool bare = !config.headers->names.UsedBy(source);
  absl::StatusOr<SandboxResult> result =
      Link(config, bare ? kBareHeader : kAllowedHeader, shim_object, source);
  // What the language itself asks of a header is an error without it.
  if (bare && result.ok() && result->exit == SandboxExit::kExited && result->exit_code != 0)
    result = Link(config, kAllowedHeader, shim_object, source);
  if (!result.ok()) {
    out.status = result.status();
    return out;
  }
  const auto object = result->files.find("kernel.so");
  if (!Succeeded(*result) || object == result->files.end()) {
    out.diagnostics = TrimDiagnostics(result->stderr_text);
    out.hosts = MayBeTheHosts(*result);
    const std::string wanted = absl::StrCat("undefined reference to `", function, "(");
    out.entry_missing = absl::StrContains(result->stderr_text, wanted);
    if (out.diagnostics.empty()) out.diagnostics = HowItEnded(tools, *result);
    return out;
  }
  const std::string context = absl::StrCat(tools.version, "\n", absl::StrJoin(config.flags, "\n"));
  out.compiled = true;
  out.object = std::move(object->second);
  // The hash is of the whole stripped file: two programs may differ in whatever a hash leaves out.
  out.object_hash = Sha256Hex(absl::StrCat(context, "\n", out.object));
  return out;
}

}  // namespace whetstone
