// MeasuringHealth says what is wrong with how a run measures, by its newest verdicts: noise, a
// worker that is unlike the others, verdicts that take longer than they did. health_limits.h has
// the thresholds.
//
//   MeasuringWatch watch;
//   for (…the newest verdicts, the newest first…) watch.Add(verdict);
//   for (const HealthFinding& finding : watch.Findings()) …
#ifndef WHETSTONE_COORDINATOR_REPORT_MEASURING_HEALTH_H_
#define WHETSTONE_COORDINATOR_REPORT_MEASURING_HEALTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/journal/journal.h"
#include "coordinator/report/health_finding.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// It is not thread-safe.
class MeasuringWatch {
 public:
  // Takes the next older verdict, if a slot reached it.
  void Add(const v1::Verdict& verdict);
  std::vector<HealthFinding> Findings() const;

 private:
  struct Measured {
    std::string worker;
    std::string cpu_model;
    std::string problem_hash;
    bool failed = false;  // as a worker in trouble makes programs fail
    bool timed = false;
    double noise_band = 0;
    double seconds = 0;  // of timing, for each pair of processes
  };

  void AddNoise(std::vector<HealthFinding>* findings) const;
  // Compares each worker with the others of its CPU model.
  void AddOddWorkers(std::vector<HealthFinding>* findings) const;
  void AddSlower(std::vector<HealthFinding>* findings) const;

  std::vector<Measured> measured_;  // the newest first
};

// Reads the newest kHealthVerdicts. Errors are Journal::ForEachNewestVerdict's.
absl::StatusOr<std::vector<HealthFinding>> MeasuringHealth(const Journal& journal);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_MEASURING_HEALTH_H_
