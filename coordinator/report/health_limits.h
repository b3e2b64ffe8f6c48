// Every alarm of a run is defined here: its name, and from which threshold on it is told. Status,
// watch, list and report show those of the moment; a run tells its console and `notify` of new
// ones. docs/operating.md has a table of them for people, which a test holds to this one.
#ifndef WHETSTONE_COORDINATOR_REPORT_HEALTH_LIMITS_H_
#define WHETSTONE_COORDINATOR_REPORT_HEALTH_LIMITS_H_

#include <cstddef>

namespace whetstone {

// The kinds of HealthFinding, those of learning first.
inline constexpr const char* kHealthKinds[] = {
    "collapsed",   "one_outcome",     "cut_off",      "equal_rewards", "no_variety",
    "reward_flat", "reward_fell",     "entropy_gone", "policy_moved",  "noisy_timing",
    "odd_worker",  "slower_verdicts", "disk_full",    "stalled",       "nothing_faster"};

// ---- of the newest steps (learning_health.h) ----------------------------------------------------

// So many of the newest steps are looked at, and they must have so many completions together before
// anything is said of them.
inline constexpr int kHealthSteps = 5;
inline constexpr int kHealthCompletionsMin = 8;
// Something is said from these shares on, each a mean over those steps: of groups whose rewards are
// all equal, or within their errors; of completions that were cut off; of completions with one
// outcome, if that is not CORRECT. Of programs that differ from each other something is said up to
// kDistinctShare.
inline constexpr double kEqualGroupsShare = 0.9;
inline constexpr double kCutOffShare = 0.5;
inline constexpr double kOneOutcomeShare = 0.95;
inline constexpr double kDistinctShare = 0.25;
// A group whose completions are all one program has collapsed; that is said once it was so in this
// many steps of its problem running.
inline constexpr int kCollapseSteps = 3;

// ---- of how they go on (trend_health.h) ---------------------------------------------------------
// Both numbers of steps are rounded up to whole turns of the problems.

// The reward is flat if its mean over so many steps is not above that over as many before by more
// than kFlatErrors of its standard errors, and no problem has a better program since.
inline constexpr int kFlatSteps = 20;
inline constexpr double kFlatErrors = 2;
// It fell if its mean over kHealthSteps is so far below the highest such mean, and so many standard
// errors.
inline constexpr double kRewardFall = 0.3;
inline constexpr double kFallErrors = 4;
// The policy's mean entropy over kHealthSteps, nats a token: below, it hardly chooses any more.
inline constexpr double kEntropyMin = 0.01;
// It is far from where it was, by the mean over kHealthSteps of the KL penalty's estimate, nats a
// token; or from the policy that sampled, by how far log-probabilities of tokens differ.
// (Importance weights do not tell: with some settings they are whole sequences', or bounded.)
inline constexpr double kKlMax = 1;
inline constexpr double kLogpDifferenceMax = 0.2;

// ---- of the measuring (measuring_health.h) ------------------------------------------------------

// So many of the newest verdicts are looked at.
inline constexpr int kHealthVerdicts = 400;
// Equal code differs by so much: the median A/A threshold of the newest kNoiseVerdicts timed ones.
inline constexpr size_t kNoiseVerdicts = 50;
inline constexpr double kNoiseBandMax = 0.05;
// The others are compared problem by problem: of one with so many verdicts on both sides, and of so
// many altogether.
inline constexpr size_t kOfProblemMin = 5;
inline constexpr double kComparedMin = 20;
// A worker is odd beside the others of its CPU model if its share of programs that crash, take too
// long or too much, or fail for our reasons is so much higher, and so many standard errors; or if
// its A/A threshold, or the time that a pair of processes takes, is so many times theirs, the
// former also above kOddNoiseMin.
inline constexpr double kOddFailures = 0.25;
inline constexpr double kOddErrors = 4;
inline constexpr double kOddNoise = 3;
inline constexpr double kOddNoiseMin = 0.02;
inline constexpr double kOddSeconds = 2;
// A pair of processes takes so many times as long as it did on the same CPU model: the newest
// kSlowerVerdicts timed ones beside the older half of kHealthVerdicts.
inline constexpr size_t kSlowerVerdicts = 50;
inline constexpr double kSlowerSeconds = 2;

// ---- of the run and its machine (machine_health.h) ----------------------------------------------

// Bytes that are to be free where the run lies, besides two checkpoints if they are saved there.
inline constexpr double kDiskFreeMin = 1e9;
// A run that goes on and journals nothing has stalled after so many seconds, and so many times the
// longest of the newest kHealthSteps steps.
inline constexpr double kStallSecondsMin = 900;
inline constexpr double kStallSteps = 3;
// While a run goes on it is looked at so often for what does not follow from its steps: seconds.
inline constexpr double kHealthLookSeconds = 60;
// An alarm that is over is told anew when it comes back after so many looks.
inline constexpr int kHealthQuietLooks = 10;

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_HEALTH_LIMITS_H_
