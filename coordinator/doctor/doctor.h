// `whet doctor CAMPAIGN` says what is wrong before an hour is lost. It does what a run would do
// first (parse, look at the model, reach or start every service, ask what each is, measure noise)
// and reports each thing on a line of its own, with the command that mends it. This machine's
// services are started only where a run would start them: with everything before in order.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_DOCTOR_H_
#define WHETSTONE_COORDINATOR_DOCTOR_DOCTOR_H_

#include <string>
#include <vector>

#include "coordinator/doctor/service_check.h"
#include "coordinator/terminal/console.h"

namespace whetstone {

struct DoctorOptions {
  std::string campaign_path;      // empty: only what this machine can do
  std::vector<std::string> sets;  // --set key=value
  ServiceCheckOptions services;
};

// Runs all checks and prints each finding: as a line for people, or with --json as an object; the
// totals follow. Returns the exit code: 0 nothing failed, 2 something did.
int RunDoctor(const DoctorOptions& options, Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_DOCTOR_H_
