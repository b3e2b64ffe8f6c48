// Tries answers to an import's questions: a worker runs the problem that they make.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_ANSWER_TRIAL_H_
#define WHETSTONE_COORDINATOR_DISCOVER_ANSWER_TRIAL_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/authoring/negative_controls.h"
#include "coordinator/discover/answer_keys.h"
#include "coordinator/discover/import_answers.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/terminal/console.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

class AnswerTrial {
 public:
  // `said` are the keys that somebody answered. All is borrowed.
  AnswerTrial(const ImportFiles& files, const std::set<std::string>& said, LocalWorker* worker,
              Console* console)
      : files_(files), said_(said), worker_(worker), console_(console) {}

  // Returns whether the reference is right with these answers, timed too, and only writes what it
  // is said to write only; why() says why not.
  absl::StatusOr<bool> Holds(const Answers& answered) { return IsRight(answered, /*time=*/true); }
  // The same; without timing in half the time, which is not the last word.
  absl::StatusOr<bool> IsRight(const Answers& answered, bool time = false);
  // Returns the programs that do not do the work and pass for right, untimed, with one of a few
  // draws of inputs (authoring/negative_controls.h), or the first `enough` of them.
  // INVALID_ARGUMENT: these answers make no problem, or the reference does not come to its end.
  absl::StatusOr<std::vector<NegativeControl>> PassingControls(const Answers& answered,
                                                               size_t enough);

  const std::string& why() const { return why_; }
  // Says whether other inputs may help where why() tells.
  bool inputs_matter() const { return inputs_matter_; }

  // Says on the console what was changed, and for what; `more` may be empty. At which sizes it is
  // timed is said when they are measured.
  void TellChanges(const std::string& what_for, const Answers& before, const Answers& after,
                   const std::string& more) const;

 private:
  absl::StatusOr<v1::Problem> ProblemOf(const Answers& answered);
  absl::StatusOr<bool> Agrees(const v1::Problem& problem, const std::string& source, bool time);

  const ImportFiles& files_;
  const std::set<std::string>& said_;
  LocalWorker* const worker_;
  Console* const console_;
  int runs_ = 0;
  std::string why_;
  bool inputs_matter_ = true;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_ANSWER_TRIAL_H_
