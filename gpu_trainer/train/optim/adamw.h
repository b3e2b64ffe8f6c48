// AdamW has fp32 masters over weights of any compute type, and moments in fp32, bf16 or 8 bits.
//
// The fp32 master is the truth; the weights that compute are its rounded copy. bf16 alone would
// lose most updates: a step of 2e-5 changes 4 % of a 135M model's bf16 weights. The master is not
// stored beside a bf16 weight: the weight and 16 more bits are the master (optimizer_kernels.h).
// fp16 has other exponents than fp32, so that there a whole master stands beside the weight.
//
//   AdamW optimizer(weights.Named(), MomentType::kFp32);   // masters = weights, moments = 0
//   optimizer.Step(settings, scale, gradients.Named());
//
// It takes so many bytes a parameter besides the weight itself (2 in bf16) and its gradient (4):
//
//   moments   fp32   bf16   8 bits
//   bf16        10      6        4
//   fp32         8      4        2
//
// bf16 moments are rounded stochastically, else a second moment with beta2 = 0.999 would stand
// still; so is the second moment in 8 bits (block-wise dynamic, arXiv 2110.02861), of which the
// root is stored: one that is small beside its block's largest does not vanish under eps.
// Everything is a function of the state alone: a resumed optimizer goes on bit for bit.
//
// Several ranks may shard the state (ZeRO-1): each holds that of its slices of the parameters
// (shard_plan.h), and steps only those, to the same bits as one that holds all.
//
// Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_ADAMW_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_ADAMW_H_

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_trainer/train/optim/sharded_tensor.h"

namespace whetstone {

// NamedTensors are handles: they share storage with what they name.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

struct AdamWSettings {
  double lr = 1e-5;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // matrices only, never norms and biases
};

enum class MomentType { kFp32, kBf16, kEightBit };
// "fp32", "bf16", "8bit": train.optimizer_state.
const char* NameOf(MomentType type);

// Says whose slices of the parameters an optimizer steps.
struct OptimizerShard {
  int rank = 0;
  int ranks = 1;
};

class AdamW {
 public:
  // `parameters`, contiguous, of a compute type, are updated in place; never replace their tensors.
  // kBf16 and kEightBit: on the CPU only. `slices` are those of `shard`, flat, by parameter, where
  // they do not always lie in the parameters; empty: they do.
  AdamW(NamedTensors parameters, MomentType type, OptimizerShard shard = {},
        const NamedTensors& slices = {});

  // Steps this rank's slices. `gradients` are those of the slices, as SlicesOf gives them, fp32, in
  // the order of the parameters; each is multiplied by `gradient_scale` first, and set to zero
  // afterwards.
  // stepped(i, parameter), if any, is called once that slice of parameter i is new.
  void Step(const AdamWSettings& settings, double gradient_scale, const NamedTensors& gradients,
            const std::function<void(size_t, const torch::Tensor&)>& stepped = nullptr);

  // Returns this rank's slices of tensors like the parameters, flat.
  NamedTensors SlicesOf(const NamedTensors& tensors) const;

  // Returns the bytes that a step reads and writes at least, for profiles.
  double StepBytes() const;

  // Forgets moments and step count (a new phase begins), keeps the masters.
  void Reset();

  // Returns all that must be saved besides the parameters themselves, as it is stored: "low.NAME"
  // i16 (of bf16 parameters), "master.NAME" f32 (of fp16 ones), "moment1.NAME", "moment2.NAME", and
  // in 8 bits "scale1.NAME", "scale2.NAME". Writing into them restores it.
  std::vector<ShardedTensor> State() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

  // Returns fp32 copies of the masters of this rank's slices, flat, by parameter.
  NamedTensors Masters() const;

 private:
  struct Moment {
    torch::Tensor values;  // Like the slice: f32, bf16 or u8.
    torch::Tensor scales;  // In 8 bits: f32, one for each block.
  };
  struct Parameter {
    std::string name;
    torch::Tensor whole;
    Slice slice;
    // These belong to the slice and are flat:
    torch::Tensor weight;  // A view into `whole`, or a tensor given.
    torch::Tensor low;     // i16, of a bf16 weight.
    torch::Tensor master;  // f32: a float weight itself, an fp16 one's own; undefined with `low`.
    Moment moment1, moment2;
  };
  class BlockStep;

  Moment MakeMoment(const torch::Tensor& weight) const;

  const MomentType type_;
  const OptimizerShard shard_;
  std::vector<Parameter> parameters_;
  int64_t steps_ = 0;
};

// Sets all to zero.
void Clear(const NamedTensors& tensors);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_ADAMW_H_
