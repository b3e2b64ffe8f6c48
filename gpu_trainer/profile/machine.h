// Measures what this machine can do: the denominators of every share that a profile gives.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_MACHINE_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_MACHINE_H_

#include <torch/types.h>

#include <string>
#include <vector>

namespace whetstone {

struct MatmulSpeed {
  std::string dtype;  // "fp32", "tf32" (on a GPU only), "fp16", "bf16"
  int64_t size = 0;   // of square matrices
  double gflops = 0;  // 1e9 floating-point operations a second, the best of several runs
};

struct MachineSpeed {
  std::string device;
  int threads = 0;
  std::vector<MatmulSpeed> matmul;
  double read_gb_s = 0;             // a sum over memory larger than any cache
  double operator_overhead_us = 0;  // one operation on a tensor of one number

  // Returns the best over the sizes; 0: not measured.
  double BestGflops(const std::string& dtype) const;
};

// Takes some `seconds` in all. Uses the threads that LibTorch is set to. `dtypes` are those of the
// matrix products; none named: all. Sizes that would take too long for a type are left out.
MachineSpeed MeasureMachine(torch::Device device, double seconds = 10,
                            const std::vector<std::string>& dtypes = {});

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_MACHINE_H_
