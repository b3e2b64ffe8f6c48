// The models that an evaluation is asked for, in a person's words.
//
//   ASSIGN_OR_RETURN(const NamedModel model, FindModel("runs/quickstart@warmup"));
//   model.name;   // "quickstart-warmup"
//   model.path;   // "/…/runs/quickstart/checkpoints/warmup"
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_MODELS_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_MODELS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

struct NamedModel {
  std::string word;                 // as it was given
  std::string name;                 // of its row, and of its folder in the evaluation's
  std::string path;                 // on the trainer's filesystem, or the name at `endpoint`
  std::string endpoint = {};        // base URL of chat completions; empty: the trainer has it
  std::optional<v1::Campaign> run;  // the campaign of the run that it comes from
};

// Finds what `word` names: a model behind an endpoint (URL#MODEL), a run directory (its last
// checkpoint; RUN@warmup and RUN@12 another one), a checkpoint, its adapter/ (whose weights are
// merged into the checkpoint's), or any other directory on the trainer's filesystem. NAME=WORD
// names it. NOT_FOUND: what stands before @ is no run, or the run has not, or no longer, such a
// checkpoint. INVALID_ARGUMENT: adapters without their model, or a name that no folder can have.
absl::StatusOr<NamedModel> FindModel(const std::string& word);

// Returns what changes when the model does: a checkpoint's manifest; of another directory its
// config.json, and the weights' files with their sizes and times. Empty: it is not on this machine.
std::string ModelIdentity(const NamedModel& model);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_MODELS_H_
