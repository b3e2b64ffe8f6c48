#include "benchmarks/plain_pipeline.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "sandbox/sandbox.h"

namespace whetstone {
namespace {

// The harness is one translation unit: candidate and reference have namespaces of their own.
constexpr char kHarness[] = R"cpp(
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>
  static std::vector<float> Random(int n, unsigned seed) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> out(n * n);
    for (float& x : out) x = uniform(rng);
    return out;
  }
  int main() {
    for (int n : kSizes) {
      std::vector<float> a = Random(n, 1), b = Random(n, 2), want(n * n), got(n * n);
      reference::FUNCTION(a.data(), b.data(), want.data(), n);
      candidate::FUNCTION(a.data(), b.data(), got.data(), n);
      for (int i = 0; i < n * n; ++i)
        if (!(std::fabs(got[i] - want[i]) <= 1e-3)) return 1;
      double seconds[2] = {0, 0};
      for (int call = 0; call < kCalls; ++call)
        for (int side = 0; side < 2; ++side) {
          const auto begin = std::chrono::steady_clock::now();
          if (side == 0)
            reference::FUNCTION(a.data(), b.data(), want.data(), n);
          else
            candidate::FUNCTION(a.data(), b.data(), got.data(), n);
          seconds[side] +=
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        }
      std::printf("%d %.3f\n", n, seconds[0] / seconds[1]);
    }
  }
)cpp";

std::string FunctionOf(const v1::Problem& problem) {
  const std::string& signature = problem.signature();
  const size_t end = signature.find('(');
  const size_t begin = signature.find_last_of(" *", end - 1) + 1;
  return signature.substr(begin, end - begin);
}

}  // namespace

absl::StatusOr<PlainPipeline> PlainPipeline::Create(const v1::Problem& problem) {
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("plain-pipeline"));
  return PlainPipeline(problem, std::move(dir));
}

absl::StatusOr<PlainResult> PlainPipeline::Evaluate(const std::string& source,
                                                    int timed_calls) const {
  std::string text = "#include <cstddef>\n#include <cstdint>\n";
  for (const std::string& header : problem_.compile().headers())
    absl::StrAppend(&text, "#include <", header, ">\n");
  std::vector<std::string> sizes;
  for (const v1::SizePoint& point : problem_.sizes().timed())
    sizes.push_back(absl::StrCat(point.values().begin()->second));
  absl::StrAppend(&text, "static const int kSizes[] = {", absl::StrJoin(sizes, ", "),
                  "};\nstatic const int kCalls = ", (timed_calls + kRuns - 1) / kRuns, ";\n",
                  "#define FUNCTION ", FunctionOf(problem_), "\nnamespace reference {\n",
                  problem_.reference(), "\n}\nnamespace candidate {\n", source, "\n}\n", kHarness);

  SandboxSpec compile;
  compile.profile = Profile::kCompile;
  compile.env = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TMPDIR=/tmp"};
  compile.argv = {"/usr/bin/g++", "-pipe", absl::StrCat("-std=", problem_.compile().std())};
  compile.argv.insert(compile.argv.end(), problem_.compile().flags().begin(),
                      problem_.compile().flags().end());
  compile.argv.insert(compile.argv.end(), {"-w", "/work/program.cc", "-o", "/work/program"});
  compile.files = {{"program.cc", text}};
  compile.collect = {"program"};
  compile.limits.memory_bytes_max = int64_t{2} << 30;
  ASSIGN_OR_RETURN(const SandboxResult built, Sandbox::Run(compile));
  PlainResult out;
  const auto program = built.files.find("program");
  if (program == built.files.end()) return out;
  out.compiled = true;

  const std::string path = dir_.path() + "/program";
  RETURN_IF_ERROR(WriteFileAtomically(path, program->second));
  chmod(path.c_str(), 0755);
  SandboxSpec run;
  run.argv = {"/program"};
  run.binds = {{path, run.argv[0]}};
  run.limits.wall = run.limits.cpu = std::chrono::seconds(10);
  for (out.right = true; out.runs < kRuns && out.right; ++out.runs) {
    ASSIGN_OR_RETURN(const SandboxResult ended, Sandbox::Run(run));
    out.right = ended.exit == SandboxExit::kExited && ended.exit_code == 0;
  }
  return out;
}

}  // namespace whetstone
