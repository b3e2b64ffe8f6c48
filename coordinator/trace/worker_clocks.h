// Workers tell the times of a measurement by the clocks of their hosts. WorkerClocks says how these
// differ from the coordinator's, by which the journal tells its times: as far as both together are
// impossible otherwise. What was measured was asked for before, and its verdict came after.
//
//   WorkerClocks clocks;
//   for (…) clocks.Add(verdict, rollout_us, verdict_us);
//   const int64_t begin_us = stage.time_us() + clocks.OffsetUs(verdict.worker());
#ifndef WHETSTONE_COORDINATOR_TRACE_WORKER_CLOCKS_H_
#define WHETSTONE_COORDINATOR_TRACE_WORKER_CLOCKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// It is not thread-safe.
class WorkerClocks {
 public:
  // Takes a verdict of what could be measured from `asked_us` on (nothing: not known), and which
  // was there at `here_us`, both by the coordinator's clock.
  void Add(const v1::Verdict& verdict, std::optional<int64_t> asked_us, int64_t here_us);
  // Returns what is to be added to the worker's times: 0 where its clock may be right, else what is
  // needed at least. Where its clock was set in between, no verdict comes before it was reached.
  int64_t OffsetUs(const std::string& worker) const;

 private:
  struct Bounds {
    std::optional<int64_t> least;
    std::optional<int64_t> most;
  };
  std::map<std::string, Bounds> bounds_;  // by the worker's host name
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_WORKER_CLOCKS_H_
