// Answers to an import's questions with which a function is right by its own measure.
//
// Most want an array that is not const to be written only, numbers of all values, and checks from
// one element on. But y[i] += x[i] reads what it writes, a stencil leaves its borders as they were,
// a logarithm wants what is positive, the variance of one number is none, and whole numbers may be
// places in another array: then the problem's
// reference, run against itself, is wrong, or never ends. A worker tells; and whether arrays are
// written only it tells by a program that clears them first (authoring/negative_controls.h).
//
//   ASSIGN_OR_RETURN(answered,
//                    SoundAnswers(files, answered, answers.said(), worker, &console));
#ifndef WHETSTONE_COORDINATOR_DISCOVER_SOUND_ANSWERS_H_
#define WHETSTONE_COORDINATOR_DISCOVER_SOUND_ANSWERS_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/discover/answer_keys.h"
#include "coordinator/discover/import_answers.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/terminal/console.h"

namespace whetstone {

// Returns `answered`, all answers by key, with as few changed as can be: arrays are changed in
// place, numbers positive, or places; where that does not do, the smallest sizes ("check") are left
// out. Says what it changed, but changes no answer whose key is in `said`. INVALID_ARGUMENT:
// nothing helps; the rest are errors of ImportAnswered and the worker. Pointers are borrowed.
absl::StatusOr<Answers> SoundAnswers(const ImportFiles& files, const Answers& answered,
                                     const std::set<std::string>& said, LocalWorker* worker,
                                     Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_SOUND_ANSWERS_H_
