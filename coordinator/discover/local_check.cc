#include "coordinator/discover/local_check.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/authoring/problem_check.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/durable/reward.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {

absl::StatusOr<ProblemReport> CheckOnWorker(const v1::Problem& problem, const std::string& text,
                                            const std::string& file, bool quick,
                                            LocalWorker* worker, Console* console,
                                            const std::function<bool()>& stopped) {
  ASSIGN_OR_RETURN(const v1::Campaign defaults,
                   ParseCampaign("name: x\nmodel: /x\nproblems: [x]\n", "defaults", "/", {}));
  ProblemTools tools;
  tools.calibrate = [&](bool measured) {
    console->Status(
        absl::StrCat(file, ": compiling the reference", measured ? ", measuring the expert" : ""));
    return measured ? worker->Put(problem, v1::PutProblemRequest::MEASURED)
                    : worker->PutUncalibrated(problem);
  };
  int programs = 0;
  tools.measure = [&](const std::string& source, bool time) -> absl::StatusOr<v1::Verdict> {
    if (stopped && stopped()) return absl::CancelledError("stopped");
    console->Status(absl::StrCat(file, ": measuring program ", ++programs));
    return worker->Measure(problem, source, time, /*fresh=*/true);
  };
  tools.reward = [&](const v1::Verdict& verdict, const v1::Calibration& calibration) {
    return RewardOf(verdict, defaults.reward(), calibration.expert().speedup(),
                    calibration.noise_band())
        .value;
  };
  return CheckProblem(problem, PromptLocations::Read(text, file), tools, quick);
}

}  // namespace whetstone
