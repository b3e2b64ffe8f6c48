#include "coordinator/doctor/campaign_check.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/config/model_rules.h"
#include "coordinator/config/problem_rules.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/render.h"
#include "coordinator/prompt/worked_examples.h"

namespace whetstone {
namespace {

using Level = Finding::Level;

double Gigabytes(double bytes) { return bytes / 1e9; }

// Returns the nearest existing folder of `path`: where its bytes would go.
std::string ExistingAncestor(std::string path) {
  while (path.size() > 1 && access(path.c_str(), F_OK) != 0) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    path.resize(std::max<size_t>(slash, 1));
  }
  return path;
}

}  // namespace

void CheckProblems(const v1::Campaign& campaign, const FindingSink& found,
                   v1::InspectModelRequest* request) {
  const auto check = [&](const std::string& path, const std::string& list,
                         absl::Status (*of_split)(const v1::Problem&, const std::string&)) {
    const auto problem = ParsePromptFile(path);
    if (!problem.ok()) {
      found({Level::kFail, "problem", std::string(problem.status().message()),
             "whet problem check " + path});
    } else if (const absl::Status status = of_split(*problem, path); !status.ok()) {
      found({Level::kFail, "problem", std::string(status.message()),
             absl::StrCat("take ", path, " out of `", list, "` in the campaign")});
    } else {
      found({Level::kOk, "problem", path, ""});
      const auto& hints = campaign.train().hints();
      std::vector<std::vector<v1::Message>> prompts =
          RenderHinted(RenderMessages(*problem), {hints.begin(), hints.end()});
      if (prompts.empty()) prompts = {RenderMessages(*problem)};
      if (campaign.search().repairs() > 0) {
        prompts.push_back(SecondTurn(*problem, prompts.front()));
      }
      AddPrompts(*problem, prompts,
                 RenderResponsePrefix(campaign.generate().response_prefix(), *problem), request);
    }
  };
  const auto any = [](const v1::Problem&, const std::string&) { return absl::OkStatus(); };
  for (const std::string& path : campaign.problems()) check(path, "problems", CheckTrainable);
  for (const std::string& path : campaign.eval().problems()) {
    check(path, "eval.problems", Learns(campaign) ? CheckHeldOut : +any);
  }
  if (campaign.has_warmup() && !campaign.warmup().examples().empty()) {
    const std::string& path = campaign.warmup().examples();
    const auto examples = ReadWorkedExamples(path);
    if (examples.ok()) {
      found({Level::kOk, "warm-up", absl::StrCat(examples->size(), " examples in ", path), ""});
    } else {
      found({Level::kFail, "warm-up", std::string(examples.status().message()),
             "correct warmup.examples in the campaign"});
    }
  }
}

void ReportModels(const v1::Campaign& campaign, const v1::InspectModelRequest& request,
                  const absl::StatusOr<v1::InspectModelResponse>& response,
                  const FindingSink& found) {
  if (!response.ok()) {
    found({Level::kFail, "model", std::string(response.status().message()),
           "build or install whet and whet-trainer together, of one version"});
    return;
  }
  for (const BrokenRule& rule : CheckModelRules(campaign, request, *response)) {
    found({Level::kFail, rule.key, rule.what,
           absl::StrCat("correct `", rule.key, "` in the campaign")});
  }
  const v1::ModelFacts& model = response->model();
  if (model.error().empty()) {
    const LongestPrompt longest = FindLongestPrompt(request, *response);
    found({Level::kOk, "model",
           absl::StrCat(campaign.model(), ": ", FactsText(model),
                        longest.name.empty() ? ""
                                             : absl::StrCat(", longest prompt ", longest.tokens,
                                                            " tokens (", longest.name, ")")),
           ""});
  }
  if (response->has_kl_reference() && response->kl_reference().error().empty()) {
    found({Level::kOk, "train.kl_reference",
           absl::StrCat(campaign.train().kl_reference(), ": ", FactsText(response->kl_reference())),
           ""});
  }
}

void CheckDisk(const v1::Campaign& campaign, int64_t parameters, const std::string& directory,
               const FindingSink& found) {
  const std::string where = ExistingAncestor(directory);
  struct statvfs info;
  if (statvfs(where.c_str(), &info) != 0) {
    found({Level::kFail, "disk", "cannot look at " + where, "make " + directory + " writable"});
    return;
  }
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  // A checkpoint holds weights (at most fp32), fp32 master weights and two moments of AdamW.
  const double one = 16 * static_cast<double>(parameters);
  // One more than is kept exists while a checkpoint is being written.
  const double all = one * (std::max(1, campaign.checkpoint().keep()) + 1);
  const std::string detail = absl::StrFormat("%.1f GB free in %s, checkpoints need up to %.1f GB",
                                             Gigabytes(free), where, Gigabytes(all));
  if (free >= all + 1e9) {
    found({Level::kOk, "disk", detail, ""});
  } else {
    found({free < 2 * one + 1e8 ? Level::kFail : Level::kWarn, "disk", detail,
           "free space, set checkpoint.keep lower, or choose another --run-dir or checkpoint.dir"});
  }
}

}  // namespace whetstone
