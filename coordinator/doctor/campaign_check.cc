#include "coordinator/doctor/campaign_check.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/config/campaign_rules.h"
#include "coordinator/doctor/model_directory.h"
#include "coordinator/prompt/prompt_file.h"
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

void CheckModelDirectory(const std::string& key, const std::string& path,
                         const FindingSink& found) {
  const auto summary = InspectModelDirectory(path);
  if (!summary.ok()) {
    found({Level::kFail, key, std::string(summary.status().message()),
           absl::StrCat("correct `", key, "` in the campaign")});
    return;
  }
  found({Level::kOk, key,
         absl::StrFormat("%s: %s, %.1f M parameters, %.2f GB", path, summary->architecture,
                         static_cast<double>(summary->parameters) / 1e6,
                         Gigabytes(static_cast<double>(summary->weight_bytes))),
         ""});
}

void CheckProblems(const v1::Campaign& campaign, const FindingSink& found) {
  for (const std::string& path : campaign.problems()) {
    const auto problem = ParsePromptFile(path);
    if (!problem.ok()) {
      found({Level::kFail, "problem", std::string(problem.status().message()),
             "whet problem check " + path});
    } else if (const absl::Status trainable = CheckTrainable(*problem, path); !trainable.ok()) {
      found({Level::kFail, "problem", std::string(trainable.message()),
             absl::StrCat("take ", path, " out of `problems` in the campaign")});
    } else {
      found({Level::kOk, "problem", path, ""});
    }
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

void CheckDisk(const v1::Campaign& campaign, const std::string& directory,
               const FindingSink& found) {
  const std::string where = ExistingAncestor(directory);
  struct statvfs info;
  if (statvfs(where.c_str(), &info) != 0) {
    found({Level::kFail, "disk", "cannot look at " + where, "make " + directory + " writable"});
    return;
  }
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  const auto model = InspectModelDirectory(campaign.model());
  const double parameters = model.ok() ? static_cast<double>(model->parameters) : 0;
  // A checkpoint holds weights (at most fp32), fp32 master weights and two moments of AdamW.
  const double one = 16 * parameters;
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
