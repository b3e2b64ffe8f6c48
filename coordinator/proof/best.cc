#include "coordinator/proof/best.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/proof/standalone_benchmark.h"
#include "coordinator/report/verdict_json.h"

namespace whetstone {
namespace {

std::string Readme(const v1::Problem& problem, const v1::Verdict& v) {
  return absl::StrCat(
      "# ", problem.id(), ": ",
      absl::StrFormat("%.2f times as fast as the reference\n\n", v.speedup()),
      absl::StrFormat("Measured in fresh processes: %.2fx, 95 %% interval %.2f to %.2f. "
                      "`verdict.json` has every number,\n`provenance.json` where the program comes "
                      "from and what it was measured on.\n\n",
                      v.speedup(), v.speedup_low(), v.speedup_high()),
      "To see for yourself, without Whetstone (needs a C++20 compiler, CMake and Google Benchmark, "
      "on Debian\n`apt install g++ cmake make libbenchmark-dev`):\n\n"
      "    sh run.sh\n\n"
      "It checks the outputs of `candidate.cc` against those of `reference.cc`",
      problem.oracle().empty() ? "" : " (the truth is `oracle.cc`)",
      problem.checker().empty() ? "" : " (`checker.cc` judges)",
      " at every size,\ntimes both in random order and says whether the speedup is no less than "
      "recorded, within a\ntolerance (`--tolerance=0.1`; exit code 0; 1: slower; 3: wrong "
      "outputs). "
      "Expect another "
      "figure on another processor.\nIt runs the program unprotected, as any program you build "
      "yourself; a worker ran it in a sandbox.\n");
}

nlohmann::ordered_json Provenance(const v1::Problem& problem, const std::string& source,
                                  const v1::Verdict& v, const nlohmann::ordered_json& origin) {
  nlohmann::ordered_json json = {{"problem", problem.id()}, {"problem_hash", v.problem_hash()}};
  json.update(origin);
  const v1::MeasuredOn& on = v.measured_on();
  json["candidate_id"] = v.candidate_id();
  json["program_sha256"] = Sha256Hex(source);
  json["object_sha256"] = v.object_hash();
  json["host"] = v.worker();
  json["cpu"] = on.cpu_model();
  json["microcode"] = on.microcode();
  json["kernel"] = on.kernel();
  json["compiler"] = on.compiler();
  json["flags"] = std::vector<std::string>(on.flags().begin(), on.flags().end());
  json["timer_core"] = on.timer_core();
  json["kernel_cores"] = std::vector<int>(on.kernel_cores().begin(), on.kernel_cores().end());
  json["timer_apart"] = on.timer_apart();
  json["isolation"] = v.isolation();
  json["noise_band"] = v.noise_band();
  // The seed is text: other readers of JSON keep 53 bits of a number.
  json["input_seed"] = absl::StrCat(v.input_seed());
  return json;
}

}  // namespace

absl::Status WriteProof(const std::string& folder, const v1::Problem& problem,
                        const std::string& source, const v1::Verdict& verdict,
                        const nlohmann::ordered_json& origin) {
  RETURN_IF_ERROR(MakeDirectories(folder));
  std::map<std::string, std::string> files;
  ASSIGN_OR_RETURN(files, StandaloneBenchmark(problem, source, verdict));
  nlohmann::ordered_json numbers = VerdictJson(verdict);
  numbers.erase("reward");
  files["verdict.json"] = numbers.dump(2) + "\n";
  files["provenance.json"] = Provenance(problem, source, verdict, origin).dump(2) + "\n";
  files["README.md"] = Readme(problem, verdict);
  for (const auto& [name, text] : files) {
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name), text));
  }
  const std::string script = folder + "/run.sh";
  if (chmod(script.c_str(), 0755) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make executable ", script));
  }
  return absl::OkStatus();
}

absl::Status PublishBest(const RunPaths& paths, const v1::Campaign& campaign,
                         const v1::Problem& problem, const IncumbentEntry& incumbent) {
  return WriteProof(
      paths.best(problem.id()), problem, incumbent.source, incumbent.verdict,
      {{"campaign", campaign.name()},
       {"model", campaign.model()},
       {"campaign_seed", absl::StrCat(campaign.seed())},
       {"step", incumbent.step},
       {"rollout", {{"group", incumbent.group_index}, {"sample", incumbent.sample}}}});
}

}  // namespace whetstone
