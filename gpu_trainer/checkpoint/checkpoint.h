// A checkpoint is a Hugging Face directory that transformers and vLLM load unchanged, plus resume/.
//
//   DIR/config.json, model.safetensors      weights in the compute type
//   DIR/tokenizer.json, …                   the other small files of the policy's origin, copied
//   DIR/adapter/                            with LoRA: the adapters, as PEFT loads them; they are
//                                           merged into the weights above
//   DIR/resume/state.json                   {"format": 2, "adam_steps": n, "learner": {…},
//                                           "base_model": PATH, "spike_guard": {…},
//                                           "loss_scale": {…} in fp16}
//   DIR/resume/optimizer.safetensors        Learner::State: the masters or their lower bits,
//                                           moments, adapters
//   DIR/resume/last_update.pb               whetstone.v1.UpdateResponse, without what was timed
//   DIR/resume/manifest.json                {"format": 1, "files": {NAME: {"bytes", "sha256"}}}
//
// A policy that never learned has no optimizer.safetensors. A save is all or nothing: everything is
// written to DIR.tmp-PID, fsynced, and renamed at the end; replacing an older DIR is atomic too.
// Loading verifies every byte against the manifest. 2 steps = 1 step + save + load + 1 step, bit
// for bit.
//
// A checkpoint does not tell how many ranks wrote it, nor what each of them held: the files are the
// same, and any number of ranks goes on from them, with any sharding.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_CHECKPOINT_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_CHECKPOINT_H_

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/checkpoint/policy.h"

namespace whetstone {

struct SavedCheckpoint {
  // SHA-256 (hex) over the sorted lines "NAME SHA256\n" of all files but the manifest.
  std::string checksum;
  int64_t bytes = 0;
};

// Tests set it. It is called before each stage ("weights", "files", "optimizer", "manifest",
// "rename"); an error makes the save fail there.
using CheckpointFault = std::function<absl::Status(absl::string_view stage)>;

// `directory` is absolute, or relative to the working directory; its parent is made if missing.
// Where there are several ranks (policy.learner_options.ranks) all must call it: rank 0 writes, the
// others hand it their slices of the state and get an empty SavedCheckpoint. RESOURCE_EXHAUSTED:
// disk full. After any failure nothing is left behind, and an older checkpoint of that name is
// unharmed.
absl::StatusOr<SavedCheckpoint> SaveCheckpoint(const Policy& policy, const std::string& directory,
                                               const CheckpointFault& fault = nullptr);

// Checks that the checkpoint in `directory` is the one whose SavedCheckpoint had that checksum. It
// looks at the manifest alone, by which loading verifies the files. DATA_LOSS: it is another one,
// or none. A directory that is not there is loading's to tell.
absl::Status CheckChecksum(const std::string& directory, const std::string& checksum);

// Removes a checkpoint that SaveCheckpoint wrote; one that is not there is no error.
// FAILED_PRECONDITION: the directory holds no checkpoint; nothing was removed.
absl::Status RemoveCheckpoint(const std::string& directory);

// Reads the model of a checkpoint or of any Hugging Face directory as a policy that has not learned
// yet, whatever the checkpoint was saved by; its model files are verified. Errors are LoadPolicy's.
absl::StatusOr<std::unique_ptr<Policy>> LoadPolicyModel(const std::string& directory,
                                                        torch::ScalarType dtype,
                                                        torch::Device device,
                                                        const LearnerOptions& options);

// Reads a checkpoint, or any Hugging Face directory as a policy that has not learned yet. Masters
// of the latter start from the weights in the compute type. A checkpoint that has learned goes on
// only with the compute type, optimizer_state and adapters it was saved with.
// NOT_FOUND: no such directory. INVALID_ARGUMENT: unsupported model, or a missing, truncated,
// changed or foreign file, named.
absl::StatusOr<std::unique_ptr<Policy>> LoadPolicy(const std::string& directory,
                                                   torch::ScalarType dtype, torch::Device device,
                                                   const LearnerOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_CHECKPOINT_H_
