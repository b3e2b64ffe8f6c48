// A run's best programs are measured again on other workers, one of each CPU model (`whet
// portable`). The run is only read, and its trainer left alone.
#ifndef WHETSTONE_COORDINATOR_LOOP_PORTABLE_H_
#define WHETSTONE_COORDINATOR_LOOP_PORTABLE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/loop/asked_worker.h"
#include "coordinator/report/portability.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {

// By problem id, as in RunSummary.
using Incumbents = std::map<std::string, IncumbentEntry>;

struct NamedWorker {
  std::string name;
  std::unique_ptr<AskedWorker> worker;
};

// Measures each program against its reference, precisely, on the first worker of each CPU model,
// side by side. Who does not say what he is counts as unreached, and whoever fails at one program
// is asked for the next. `say` hears what goes on, from several threads.
Portability AskForPortability(const CampaignPlan& plan, const Incumbents& incumbents,
                              const std::vector<NamedWorker>& workers,
                              const std::function<void(const std::string&)>& say);

// Does so on the workers of `workers_file` (ReadClusterFile), or on the run's own where that is
// empty. Those that can not be reached are told. Errors are those of OpenCluster; UNAVAILABLE: none
// answers. FAILED_PRECONDITION: it would be timed beside a run that goes on here. CANCELLED: a stop
// signal came.
absl::StatusOr<Portability> MeasurePortability(const CampaignPlan& plan, const RunPaths& paths,
                                               const Incumbents& incumbents,
                                               const std::string& workers_file,
                                               StopSignals* signals, Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_PORTABLE_H_
