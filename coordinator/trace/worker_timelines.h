// WorkerTimelines draw the workers in a trace of a run: what they compiled, and what each slot
// checked and timed.
//
//   WorkerTimelines workers(&trace, &clocks);
//   for (const auto& stage : workers.Draw(verdict, "12/0/3", "", after_us, here_us)) …
#ifndef WHETSTONE_COORDINATOR_TRACE_WORKER_TIMELINES_H_
#define WHETSTONE_COORDINATOR_TRACE_WORKER_TIMELINES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coordinator/trace/trace_file.h"
#include "coordinator/trace/trace_tracks.h"
#include "coordinator/trace/worker_clocks.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// They are not thread-safe.
class WorkerTimelines {
 public:
  // Both are borrowed.
  WorkerTimelines(TraceFile* trace, const WorkerClocks* clocks) : trace_(trace), clocks_(clocks) {}

  // Draws the stages that were run for a verdict: none before `after_us`, the verdict was there at
  // `here_us`, both microseconds since 1970 by the coordinator's clock. `rollout` names it in each
  // stage's args, and `again` follows each stage's name. Verdicts of earlier versions do not say
  // when their stages ran: they are drawn as if none had waited, on tracks of their own. Returns
  // the stages in their order.
  std::vector<TraceTracks::Placed> Draw(const v1::Verdict& verdict, const std::string& rollout,
                                        const std::string& again, int64_t after_us,
                                        int64_t here_us);

 private:
  struct Worker {
    int process = 0;
    std::map<std::string, TraceTracks> tracks;  // by kind, "slot 0"
  };
  struct Stage {
    const char* name = "";
    std::string track;
    int order = 0;         // of the track
    bool numbered = true;  // as TraceTracks has it
    int64_t begin_us = 0;
    double seconds = 0;
  };

  // Returns the stages that ran, by the coordinator's clock.
  std::vector<Stage> StagesOf(const v1::Verdict& verdict, int64_t here_us) const;
  TraceTracks& TracksOf(const std::string& worker, const Stage& stage);

  TraceFile* const trace_;
  const WorkerClocks* const clocks_;
  std::map<std::string, Worker> workers_;  // by host name
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_WORKER_TIMELINES_H_
