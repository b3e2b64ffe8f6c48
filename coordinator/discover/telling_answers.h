// Answers to an import's questions with which its inputs tell right programs from wrong ones.
//
// Numbers drawn at random are hardly ever alike, a word that is drawn is in no text, and who may
// miss a hundred letters of ten misses none: then a function has one answer, whatever it is given,
// and a program that does not do the work passes for right. The same programs that `whet problem
// check` tries (authoring/negative_controls.h) tell; as long as some pass, arrays are filled with
// few different values, of bytes with the letters that the program names; floating-point inputs
// that change nothing are drawn larger; what is as long as no array becomes a small value; and all
// sizes but one stay small.
//
//   ASSIGN_OR_RETURN(answered,
//                    TellingAnswers(files, answered, answers.said(), worker, &console));
#ifndef WHETSTONE_COORDINATOR_DISCOVER_TELLING_ANSWERS_H_
#define WHETSTONE_COORDINATOR_DISCOVER_TELLING_ANSWERS_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/discover/answer_keys.h"
#include "coordinator/discover/import_answers.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/terminal/console.h"

namespace whetstone {

// Returns `answered`, with which the function is right (sound_answers.h), or the first answers of
// few with which fewer wrong programs pass. Says what it changed, but changes no answer whose key
// is in `said`. Errors are those of ImportAnswered and the worker. All is borrowed.
absl::StatusOr<Answers> TellingAnswers(const ImportFiles& files, const Answers& answered,
                                       const std::set<std::string>& said, LocalWorker* worker,
                                       Console* console);

// Returns the letters that stand in quotes in C++ code, each once, the least first.
std::string QuotedLetters(absl::string_view code);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_TELLING_ANSWERS_H_
