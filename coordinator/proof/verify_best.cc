#include "coordinator/proof/verify_best.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"

namespace whetstone {
namespace {

using std::chrono::seconds;

constexpr seconds kConfigureDeadline{120};
constexpr seconds kBuildDeadline{600};
constexpr seconds kRunDeadline{900};

// Runs `argv` and returns how it ended ("exit code 0" …); its output goes to `log`.
absl::StatusOr<std::string> RunToEnd(const std::vector<std::string>& argv, const std::string& log,
                                     seconds deadline, const std::function<bool()>& cancelled) {
  ChildOptions options;
  options.argv = argv;
  options.log_path = log;
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  if (auto how = child->Wait(deadline, cancelled)) return *how;
  if (cancelled && cancelled()) return absl::CancelledError("stopped");
  return absl::DeadlineExceededError(absl::StrCat(argv[0], " took over ", deadline.count(),
                                                  " s; its last lines:\n", LastLines(log, 5)));
}

// Fills in what the benchmark wrote; false when it wrote nothing to be understood.
bool ReadResult(const std::string& path, Verification* v) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return false;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("confirmed")) return false;
  v->confirmed = json["confirmed"] == true;
  v->right = json.value("right", false);
  v->tolerance = json.value("tolerance", 0.0);
  v->speedup = json.value("speedup", 0.0);
  v->speedup_low = json.value("speedup_low", 0.0);
  v->speedup_high = json.value("speedup_high", 0.0);
  v->reason = v->right
                  ? absl::StrFormat("%.3fx here (%.3f to %.3f), %s recorded, less %.0f %%",
                                    v->speedup, v->speedup_low, v->speedup_high,
                                    v->confirmed ? "no less than" : "less than", 100 * v->tolerance)
                  : "its outputs are wrong";
  return true;
}

}  // namespace

absl::StatusOr<Verification> VerifyProof(const std::string& folder, const std::string& program,
                                         std::optional<double> tolerance,
                                         const std::function<void(const std::string&)>& status,
                                         const std::function<bool()>& cancelled) {
  ASSIGN_OR_RETURN(const std::string candidate, ReadFile(folder + "/candidate.cc"));
  ASSIGN_OR_RETURN(const TempDir work, TempDir::Make("whet-verify"));
  const std::string build = work.path() + "/build";
  const std::string log = work.path() + "/log";
  Verification v;
  status(absl::StrCat("building ", folder));
  absl::StatusOr<std::string> configured =
      RunToEnd({"cmake", "-S", folder, "-B", build}, log, kConfigureDeadline, cancelled);
  if (absl::IsNotFound(configured.status())) {
    return absl::NotFoundError(
        "a proof is built with CMake, which is not installed; on Debian: apt install g++ cmake "
        "make "
        "libbenchmark-dev");
  }
  ASSIGN_OR_RETURN(std::string how, std::move(configured));
  if (how == "exit code 0") {
    ASSIGN_OR_RETURN(how, RunToEnd({"cmake", "--build", build}, log, kBuildDeadline, cancelled));
  }
  if (how != "exit code 0") {
    v.reason = absl::StrCat("it does not build: ", how);
    v.output = LastLines(log, 20);
    return v;
  }
  status(absl::StrCat("running ", folder));
  const std::string printed = work.path() + "/output";
  std::vector<std::string> argv = {build + "/benchmark", absl::StrCat("--result=", build, ".json")};
  if (tolerance) argv.push_back(absl::StrCat("--tolerance=", *tolerance));
  ASSIGN_OR_RETURN(how, RunToEnd(argv, printed, kRunDeadline, cancelled));
  ASSIGN_OR_RETURN(v.output, ReadFile(printed));
  if (!ReadResult(build + ".json", &v)) v.reason = absl::StrCat("the benchmark ended: ", how);
  if (!absl::StrContains(candidate, program)) {
    v.confirmed = v.right = false;
    v.reason = absl::StrCat("candidate.cc is not the program that was measured (", v.reason, ")");
  }
  return v;
}

}  // namespace whetstone
