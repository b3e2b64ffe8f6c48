// A trainer process holds one policy: the model and, once it has learned, the optimizer's state and
// the name of the last update.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Policy> policy, LoadPolicy(directory, …));  // checkpoint.h
//   policy->learner().Grpo(…);
//
// Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_POLICY_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_POLICY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/learner/learner.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// A policy is neither copied nor moved: the learner borrows config and weights.
struct Policy {
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  // The learner is made at first use: a policy that only generates needs no gradients and
  // optimizer.
  Learner& learner() {
    if (learner_ == nullptr) learner_ = std::make_unique<Learner>(config, weights, learner_options);
    return *learner_;
  }
  const Learner* learner_if_any() const { return learner_.get(); }

  // The tokenizer and other small files of the directory it was loaded from, by name: every
  // checkpoint gets them. They are in memory because that directory may be an old checkpoint,
  // removed since.
  std::map<std::string, std::string> companions;
  // The directory that the weights came from before anything was learned: adapters belong to it.
  std::string base_model;
  ModelConfig config;
  Weights weights;
  LearnerOptions learner_options;
  // The model a KL penalty pulls towards, and the directory it came from; see kl_reference.h.
  std::string reference_path;
  std::unique_ptr<const ReferenceModel> reference;
  // The last update applied since LoadPolicy or before the checkpoint, and what it answered.
  std::optional<v1::UpdateResponse> last_update;

 private:
  std::unique_ptr<Learner> learner_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_POLICY_H_
