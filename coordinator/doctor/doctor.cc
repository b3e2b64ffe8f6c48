#include "coordinator/doctor/doctor.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/source_place.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/model_rules.h"
#include "coordinator/doctor/campaign_check.h"
#include "coordinator/doctor/finding.h"
#include "coordinator/services/local_inspection.h"

namespace whetstone {
namespace {

using Level = Finding::Level;

const char* Name(Level level) {
  return level == Level::kOk ? "ok" : level == Level::kWarn ? "warn" : "fail";
}

void Print(const Finding& finding, Console* console) {
  if (console->json()) {
    console->Result({{"check", finding.check},
                     {"detail", finding.detail},
                     {"fix", finding.fix},
                     {"level", Name(finding.level)}});
    return;
  }
  std::string text = absl::StrFormat("%-5s %s: %s", Name(finding.level), finding.check,
                                     absl::StrReplaceAll(finding.detail, {{"\n", "\n        "}}));
  if (!finding.fix.empty()) absl::StrAppend(&text, "\n      fix: ", finding.fix);
  console->Line(text);
}

// Prints the counts of ok, warn and fail; returns the exit code.
int Conclude(const int (&counts)[3], Console* console) {
  if (console->json()) {
    console->Result({{"fail", counts[2]}, {"ok", counts[0]}, {"warn", counts[1]}});
  } else {
    console->Line(
        absl::StrCat(counts[0], " ok, ", counts[1], " to look at, ", counts[2], " failed"));
  }
  return counts[2] == 0 ? kExitOk : kExitWrongInput;
}

}  // namespace

int RunDoctor(const DoctorOptions& options, Console* console) {
  int counts[3] = {0, 0, 0};
  const FindingSink found = [&](const Finding& finding) {
    ++counts[static_cast<int>(finding.level)];
    Print(finding, console);
  };
  if (options.campaign_path.empty()) {
    // Without a campaign the doctor says what this machine can do.
    CheckServices(v1::Campaign(), v1::InspectModelRequest(), options.services, found);
    return Conclude(counts, console);
  }
  const auto campaign = LoadCampaign(options.campaign_path, options.sets);
  if (!campaign.ok()) {
    found({Level::kFail, "campaign",
           console->json() ? std::string(campaign.status().message())
                           : WithExcerpt(campaign.status()),
           "edit " + options.campaign_path});
  } else {
    found({Level::kOk, "campaign", options.campaign_path, ""});
    v1::InspectModelRequest request = InspectRequestOf(*campaign);
    CheckProblems(*campaign, found, &request);
    // With a cluster the model and the checkpoints are on the trainer's host.
    if (!campaign->has_cluster()) {
      const auto models = InspectModelLocally(campaign->policy(), request, options.services.bin_dir,
                                              options.services.cancelled);
      ReportModels(*campaign, request, models, found);
      if (counts[static_cast<int>(Level::kFail)] > 0) {
        found({Level::kWarn, "services", "not started: a run would not get that far",
               "mend what failed, then ask again"});
        return Conclude(counts, console);
      }
      CheckDisk(*campaign, models->model().parameters(),
                campaign->checkpoint().dir().empty() ? "./runs" : campaign->checkpoint().dir(),
                found);
    }
    CheckServices(*campaign, request, options.services, found);
  }
  return Conclude(counts, console);
}

}  // namespace whetstone
