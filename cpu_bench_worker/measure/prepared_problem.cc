#include "cpu_bench_worker/measure/prepared_problem.h"

#include <future>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/problem/compile_flags.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {
namespace {

constexpr double kSecondsMin = 0.001;  // What the sandbox counts in must not come to nothing.
constexpr double kSecondsMax = 24 * 3600;
constexpr double kMemoryMbMax = 1 << 20;

absl::Status Prefixed(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

// Whoever sends a problem may not be the coordinator, which reads prompt files with more care.
absl::Status CheckRules(const v1::CompileRules& rules) {
  for (const std::string& flag : rules.flags())
    if (!IsTuningFlag(flag))
      return absl::InvalidArgumentError(
          absl::StrCat("compile.flags: '", flag, "' is not one that tunes the code"));
  for (const std::string& header : rules.headers())
    if (!IsHeaderName(header))
      return absl::InvalidArgumentError(
          absl::StrCat("compile.headers: '", header, "' is not a header's name"));
  for (const char* known : {"", "c++17", "c++20", "c++23"})
    if (rules.std() == known) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("compile.std: '", rules.std(), "' is none of c++17, c++20, c++23"));
}

absl::Status CheckLimits(const v1::Problem& problem) {
  const v1::Limits& limits = problem.limits();
  const std::tuple<const char*, double, double, double> values[] = {
      {"compile_s", limits.compile_s(), kSecondsMin, kSecondsMax},
      {"run_s", limits.run_s(), kSecondsMin, kSecondsMax},
      {"memory_mb", static_cast<double>(limits.memory_mb()), 1, kMemoryMbMax},
      {"total_s", limits.total_s(), kSecondsMin, kSecondsMax}};
  for (const auto& [name, value, least, most] : values)
    if (!(value >= least && value <= most))
      return absl::InvalidArgumentError(
          absl::StrCat("limits.", name, " is ", value, "; it must be ", least, " to ", most));
  if (problem.sizes().timed().empty())
    return absl::InvalidArgumentError("sizes.timed is empty; give at least one size to time");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CallShape>> Shapes(
    const Arguments& arguments, const char* list,
    const google::protobuf::RepeatedPtrField<v1::SizePoint>& points) {
  std::vector<CallShape> shapes;
  for (const v1::SizePoint& point : points) {
    absl::StatusOr<CallShape> shape = arguments.At(point);
    if (!shape.ok()) return Prefixed(absl::StrCat("sizes.", list), shape.status());
    shapes.push_back(std::move(*shape));
  }
  return shapes;
}

// Compiles one of the problem's own programs to an object file on the host; returns its path.
absl::StatusOr<std::string> CompileProgram(const PreparedProblem& prepared, Compiler* compiler,
                                           const std::string& name, const std::string& source,
                                           const std::string& function, CallRole role,
                                           std::string* shim_object) {
  ASSIGN_OR_RETURN(const std::string text,
                   ShimSource(prepared.bench.problem.signature(), prepared.bench.arguments, role));
  ASSIGN_OR_RETURN(*shim_object, compiler->CompileShim(prepared.config, text));
  const CompileResult result = compiler->Compile(prepared.config, *shim_object, source, function);
  RETURN_IF_ERROR(result.status);
  if (!result.compiled) {
    const std::string why = result.entry_missing ? absl::StrCat("does not define '", function,
                                                                "' with the expected parameters")
                                                 : "does not compile";
    return ProblemStatus(result.hosts,
                         absl::StrCat("the problem's ", name, " ", why, "\n", result.diagnostics));
  }
  const std::string path = absl::StrCat(prepared.folder->path(), "/", name, ".so");
  RETURN_IF_ERROR(prepared.folder->Write(absl::StrCat(name, ".so"), result.object));
  return path;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedProblem>> PrepareProblem(const v1::Problem& problem,
                                                                const std::string& hash,
                                                                Compiler* compiler,
                                                                ScreenClient* screen,
                                                                const std::string& dir) {
  auto prepared = std::make_unique<PreparedProblem>();
  ASSIGN_OR_RETURN(prepared->folder, OwnedFolder::Make(dir + "/problem"));
  BenchProblem& bench = prepared->bench;
  bench.problem = problem;
  bench.hash = hash;
  RETURN_IF_ERROR(CheckRules(problem.compile()));
  RETURN_IF_ERROR(CheckLimits(problem));
  ASSIGN_OR_RETURN(prepared->function, FunctionName(problem.signature()));
  ASSIGN_OR_RETURN(bench.arguments, Arguments::Parse(problem));
  ASSIGN_OR_RETURN(bench.check, Shapes(bench.arguments, "check", problem.sizes().check()));
  ASSIGN_OR_RETURN(bench.timed, Shapes(bench.arguments, "timed", problem.sizes().timed()));
  ASSIGN_OR_RETURN(bench.hidden, Shapes(bench.arguments, "hidden", problem.sizes().hidden()));
  // Both precompile the headers, each for a compiler of its own.
  std::future<absl::StatusOr<ScreenConfig>> screening;
  if (screen != nullptr) {
    screening = std::async(std::launch::async, [&] { return screen->Prepare(problem); });
  }
  ASSIGN_OR_RETURN(
      prepared->config,
      compiler->Prepare(problem.compile(), problem.limits().compile_s(), StructText(problem)));
  if (screen != nullptr) {
    ASSIGN_OR_RETURN(prepared->screen, screening.get());
  }

  struct Program {
    const char* name;
    const std::string* source;
    std::string function;
    CallRole role;
    std::string* path;
  };
  const Program programs[] = {
      {"reference", &problem.reference(), prepared->function, CallRole::kKernel,
       &bench.reference_object},
      {"oracle", &problem.oracle(), prepared->function, CallRole::kKernel, &bench.oracle_object},
      {"generator", &problem.generator(), "generate", CallRole::kGenerator,
       &bench.generator_object},
      {"checker", &problem.checker(), "check", CallRole::kChecker, &bench.checker_object}};
  for (const Program& program : programs) {
    if (program.source->empty()) {
      if (program.path == &bench.reference_object)
        return absl::InvalidArgumentError("the problem has no reference");
      continue;
    }
    std::string shim;
    ASSIGN_OR_RETURN(*program.path,
                     CompileProgram(*prepared, compiler, program.name, *program.source,
                                    program.function, program.role, &shim));
    if (program.path == &bench.reference_object) prepared->shim_object = std::move(shim);
  }
  return prepared;
}

}  // namespace whetstone
