// `whet doctor CAMPAIGN`: says what is wrong before an hour is lost. It does what a run would do
// first (parse, look at the model, reach or start every service, ask what each is, measure noise)
// and reports each thing on a line of its own, with the command that mends it.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_DOCTOR_H_
#define WHETSTONE_COORDINATOR_DOCTOR_DOCTOR_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

struct Finding {
  enum class Level { kOk, kWarn, kFail };
  Level level = Level::kOk;
  std::string check;   // what was looked at: "campaign", "model", "worker cpu03: isolation"
  std::string detail;  // what was found
  std::string fix;     // a command or an edit; empty where there is nothing to mend
};

struct DoctorOptions {
  std::string campaign_path;      // empty: only what this machine can do
  std::vector<std::string> sets;  // --set key=value
  bool json = false;              // one object a line, then one with the totals
  // True ends it early. May be empty.
  std::function<bool()> cancelled;
  // Where local services' binaries are; empty: beside this program.
  std::string bin_dir;
};

// Takes findings one by one, as they are made.
using FindingSink = std::function<void(const Finding&)>;

// The checks. `ModelDirectory` and `Disk` look at this machine's filesystem only; `key`: the
// campaign's, which names the directory.
void CheckModelDirectory(const std::string& key, const std::string& path, const FindingSink& found);
void CheckProblems(const v1::Campaign& campaign, const FindingSink& found);
void CheckDisk(const v1::Campaign& campaign, const std::string& directory,
               const FindingSink& found);
void CheckServices(const v1::Campaign& campaign, const DoctorOptions& options,
                   const FindingSink& found);

// Runs all of them, writing to `out`. Returns the exit code: 0 nothing failed, 2 something did.
int RunDoctor(const DoctorOptions& options, std::ostream& out);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_DOCTOR_H_
