#include "coordinator/best.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/standalone_benchmark.h"
#include "coordinator/verdict_json.h"

namespace whetstone {
namespace {

std::string Readme(const v1::Problem& problem, const LeaderFact& leader) {
  const v1::Verdict& v = leader.verdict;
  return absl::StrCat(
      "# ", problem.id(), ": ",
      absl::StrFormat("%.2f times as fast as the reference\n\n", v.speedup()),
      absl::StrFormat("Written by the policy at step %d, measured again in fresh processes: "
                      "%.2fx, 95 %% interval %.2f to %.2f.\n",
                      leader.step, v.speedup(), v.speedup_low(), v.speedup_high()),
      "`verdict.json` has every number.\n\n"
      "To see for yourself, without Whetstone (needs g++, make and Google Benchmark, on Debian\n"
      "`apt install g++ make libbenchmark-dev`):\n\n"
      "    sh run.sh\n\n"
      "It checks the outputs of `candidate.cc` against those of `reference.cc`",
      problem.oracle().empty() ? "" : " (the truth is `oracle.cc`)",
      " at every size, times\nboth in random order and prints the speedup per size.\n");
}

}  // namespace

absl::Status PublishBest(const RunPaths& paths, const v1::Problem& problem,
                         const LeaderFact& leader) {
  const std::string folder = paths.best(problem.id());
  RETURN_IF_ERROR(MakeDirectories(folder));
  std::map<std::string, std::string> files;
  ASSIGN_OR_RETURN(files, StandaloneBenchmark(problem, leader.source));
  nlohmann::ordered_json verdict = VerdictJson(leader.verdict);
  verdict.erase("reward");
  verdict["problem"] = problem.id();
  verdict["step"] = leader.step;
  files["verdict.json"] = verdict.dump(2) + "\n";
  files["README.md"] = Readme(problem, leader);
  for (const auto& [name, text] : files) {
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name), text));
  }
  const std::string script = folder + "/run.sh";
  if (chmod(script.c_str(), 0755) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make executable ", script));
  }
  return absl::OkStatus();
}

}  // namespace whetstone
