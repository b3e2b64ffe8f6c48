#include "gpu_trainer/profile/machine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/cuda.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the seconds of the shortest of the calls of `body` that fit into `seconds`, at least
// three.
double Shortest(double seconds, torch::Device device, const std::function<void()>& body) {
  const auto run = [&] {
    const Clock::time_point start = Clock::now();
    body();
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
    return SecondsSince(start);
  };
  run();  // The first one also chooses and compiles kernels.
  double shortest = run();
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 2 || SecondsSince(start) < seconds; ++i) shortest = std::min(shortest, run());
  return shortest;
}

// A product that takes more than this many times its share of the time is left out.
constexpr double kShareMax = 2;

double MatmulGflops(torch::Device device, torch::ScalarType dtype, int64_t size, double seconds) {
  const auto options = torch::dtype(dtype).device(device);
  const torch::Tensor a = torch::randn({size, size}, options);
  const torch::Tensor b = torch::randn({size, size}, options);
  torch::Tensor c = torch::empty({size, size}, options);
  const double n = static_cast<double>(size);
  return 2e-9 * n * n * n / Shortest(seconds, device, [&] { torch::mm_out(c, a, b.t()); });
}

double ReadGbPerSecond(torch::Device device, double seconds) {
  const int64_t bytes = int64_t{512} << 20;
  const torch::Tensor x = torch::ones({bytes / 4}, torch::dtype(torch::kFloat).device(device));
  if (device.is_cuda()) return 1e-9 * bytes / Shortest(seconds, device, [&] { x.sum(); });
  // LibTorch's own sum is bound by its additions on one core; these are not.
  const float* data = x.const_data_ptr<float>();
  constexpr int64_t kLanes = 64;
  std::vector<float> sums(static_cast<size_t>(at::get_num_threads()));
  return 1e-9 * static_cast<double>(bytes) / Shortest(seconds, device, [&] {
           at::parallel_for(0, x.numel() / kLanes, 1 << 14, [&](int64_t begin, int64_t end) {
             float lanes[kLanes] = {};
             for (int64_t i = begin; i < end; ++i) {
               for (int64_t j = 0; j < kLanes; ++j) lanes[j] += data[i * kLanes + j];
             }
             float sum = 0;
             for (const float lane : lanes) sum += lane;
             sums[static_cast<size_t>(at::get_thread_num())] = sum;  // Else nothing is read.
           });
         });
}

}  // namespace

double MachineSpeed::BestGflops(const std::string& dtype) const {
  double best = 0;
  for (const MatmulSpeed& speed : matmul) {
    if (speed.dtype == dtype) best = std::max(best, speed.gflops);
  }
  return best;
}

MachineSpeed MeasureMachine(torch::Device device, double seconds,
                            const std::vector<std::string>& dtypes) {
  torch::NoGradGuard no_grad;
  MachineSpeed speed;
  speed.device = device.str();
  speed.threads = at::get_num_threads();
  const std::vector<int64_t> sizes = device.is_cuda() ? std::vector<int64_t>{1024, 2048, 4096, 8192}
                                                      : std::vector<int64_t>{256, 512, 1024, 2048};
  struct Kind {
    const char* name;
    torch::ScalarType dtype;
    bool tf32;
  };
  std::vector<Kind> kinds = {{"fp32", torch::kFloat, false},
                             {"bf16", torch::kBFloat16, false},
                             {"fp16", torch::kHalf, false}};
  if (device.is_cuda()) kinds.push_back({"tf32", torch::kFloat, true});
  if (!dtypes.empty()) {
    std::erase_if(kinds, [&](const Kind& kind) {
      return std::find(dtypes.begin(), dtypes.end(), kind.name) == dtypes.end();
    });
  }
  const double share = seconds / static_cast<double>(kinds.size() * sizes.size() + 1);
  for (const Kind& kind : kinds) {
    at::globalContext().setAllowTF32CuBLAS(kind.tf32);
    for (const int64_t size : sizes) {
      const double gflops = MatmulGflops(device, kind.dtype, size, share);
      speed.matmul.push_back({kind.name, size, gflops});
      // The next one has 8 times the work, and a processor may have no instructions for the type.
      const double n = 2 * static_cast<double>(size);
      if (2e-9 * n * n * n / gflops > kShareMax * share) break;
    }
  }
  at::globalContext().setAllowTF32CuBLAS(false);
  speed.read_gb_s = ReadGbPerSecond(device, share);
  torch::Tensor one = torch::ones({1}, torch::dtype(torch::kFloat).device(device));
  constexpr int kCalls = 1000;
  speed.operator_overhead_us = 1e6 / kCalls * Shortest(0.05, device, [&] {
                                 for (int i = 0; i < kCalls; ++i) one.add_(1);
                               });
  return speed;
}

}  // namespace whetstone
