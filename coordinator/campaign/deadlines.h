// These deadlines say, in one place, how long the campaign waits for anything. Each is several
// times what the thing takes on the slowest machine it was tried on: a deadline is there to end a
// hang, not to hurry.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_DEADLINES_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_DEADLINES_H_

#include "coordinator/durable/seconds.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// A service answers GetInfo within this.
inline constexpr Seconds kProbeDeadline = 20;
// A lost service answers again within this (a local one is restarted, a tunnel reconnects).
inline constexpr Seconds kReturnDeadline = 180;
inline constexpr Seconds kLoadDeadline = 900;
// A trainer that serves another campaign is free within this.
inline constexpr Seconds kHeldDeadline = 180;
// Whoever holds the trainer and asks it nothing tells it so often that it lives: several times in
// TrainerLease::kSeconds.
inline constexpr Seconds kSignOfLife = 15;
// A service that failed is asked again after this.
inline constexpr Seconds kRetryDelay = 1;
// Two signs of life while generating come within this (the trainer promises one every two seconds).
inline constexpr Seconds kGenerateSilenceDeadline = 180;
inline constexpr Seconds kUpdateDeadline = 3600;
inline constexpr Seconds kSaveDeadline = 1800;
inline constexpr Seconds kRemoveDeadline = 600;
// The trainer sends a piece of a checkpoint within this.
inline constexpr Seconds kReadPieceDeadline = 300;

// The worker queues at most `slots` of ours, each bounded by total_s.
inline Seconds MeasureDeadline(const v1::Problem& problem) {
  return 60 + 3 * (problem.limits().total_s() > 0 ? problem.limits().total_s() : 30);
}
// A timed measurement that takes this many times the step's median, but no less than the seconds,
// is a straggler: it is tried on an idle worker besides.
inline constexpr double kStragglerFactor = 4;
inline constexpr Seconds kStragglerMin = 5;
// A challenger's measurement takes longer, as it goes on until it is precise: eight seconds at
// most, as much again if in doubt.
inline constexpr Seconds kChallengerStragglerMin = 30;
// The worker compiles the operator's programs and measures expert and noise.
inline Seconds PutProblemDeadline(const v1::Problem& problem) {
  return 120 + 10 * (problem.limits().total_s() > 0 ? problem.limits().total_s() : 30);
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_DEADLINES_H_
