// Runs the same piece of GPU work again and again, from the second time on as a CUDA graph: one
// call in place of hundreds of launches, which for few rows take longer than the work itself.
//
//   GraphRunner runner(device, /*graphs=*/true);
//   runner.Run(bucket, [&] { … queue work … });
//
// What is queued under one key must always be the same: the same shapes, and the same tensors as
// input and output, whose contents may change in between. Tensors made within live in a memory pool
// that the graphs share. Not thread-safe. Without a GPU the work is simply run.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_GRAPH_RUNNER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_GRAPH_RUNNER_H_

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace whetstone {

class GraphRunner {
 public:
  GraphRunner(torch::Device device, bool graphs);
  ~GraphRunner();
  GraphRunner(const GraphRunner&) = delete;
  GraphRunner& operator=(const GraphRunner&) = delete;

  // The first time of a key is a plain run, which also lets libraries set themselves up. Where the
  // second can not be captured, a warning says why and everything is run plainly from then on.
  void Run(int64_t key, const std::function<void()>& work);

  int64_t replayed() const { return replayed_; }  // runs from a graph
  int64_t plain() const { return plain_; }        // others

 private:
  struct Graphs;
  std::unique_ptr<Graphs> graphs_;  // null: none wanted or possible
  int64_t replayed_ = 0, plain_ = 0;
};

// Waits until what was queued on `device` by this thread is done. It does nothing for a CPU.
void WaitForDevice(torch::Device device);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_GRAPH_RUNNER_H_
