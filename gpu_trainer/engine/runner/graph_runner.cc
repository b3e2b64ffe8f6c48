#include "gpu_trainer/engine/runner/graph_runner.h"

#include <map>
#include <mutex>
#include <set>

#ifdef WHETSTONE_HAVE_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace whetstone {

#ifdef WHETSTONE_HAVE_CUDA

namespace {

// Each device has one as long as the process lives: cuBLAS keeps a workspace for every stream that
// it has worked on, in no plan of memory.
c10::cuda::CUDAStream CaptureStream(torch::Device device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;
  const std::lock_guard lock(mutex);
  const auto found = streams.find(device.index());
  if (found != streams.end()) return found->second;
  return streams
      .emplace(device.index(),
               c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()))
      .first->second;
}

}  // namespace

struct GraphRunner::Graphs {
  explicit Graphs(torch::Device device)
      : stream(CaptureStream(device)), pool(at::cuda::graph_pool_handle()) {}

  // LibTorch would keep the graphs' memory until it can get no other, whoever else wants some, and
  // no later graph may use a pool whose graphs are gone.
  ~Graphs() {
    captured.clear();
    try {
      c10::cuda::CUDACachingAllocator::emptyCache(pool);
    } catch (const c10::Error& error) {
      TORCH_WARN("the memory of CUDA graphs could not be given back: ",
                 error.what_without_backtrace());
    }
  }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  // Throws c10::Error where something in `work` can not be captured. The default stream can not be
  // captured at all, so the capture has a stream of its own; the graph is replayed on the caller's.
  std::unique_ptr<at::cuda::CUDAGraph> Capture(const std::function<void()>& work) {
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    stream.synchronize();
    const c10::cuda::CUDAStreamGuard guard(stream);
    // Other threads may use the GPU meanwhile (NCCL's watchdog does).
    graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      try {
        graph->capture_end();
      } catch (const c10::Error&) {
        // The capture is broken already: another exception is on its way.
      }
      throw;
    }
    graph->capture_end();
    return graph;
  }

  const c10::cuda::CUDAStream stream;
  const at::cuda::MempoolId_t pool;
  std::set<int64_t> seen;
  std::map<int64_t, std::unique_ptr<at::cuda::CUDAGraph>> captured;
};

GraphRunner::GraphRunner(torch::Device device, bool graphs)
    : graphs_(graphs && device.is_cuda() ? std::make_unique<Graphs>(device) : nullptr) {}

GraphRunner::~GraphRunner() = default;

void GraphRunner::Run(int64_t key, const std::function<void()>& work) {
  if (graphs_ == nullptr || graphs_->seen.insert(key).second) {
    work();
    ++plain_;
    return;
  }
  std::unique_ptr<at::cuda::CUDAGraph>& graph = graphs_->captured[key];
  if (graph == nullptr) {
    try {
      // What is queued so far may still use memory that the capture is about to be given.
      WaitForDevice(graphs_->stream.device());
      graph = graphs_->Capture(work);
    } catch (const c10::Error& error) {
      TORCH_WARN("no CUDA graph could be captured, so decoding goes on without: ",
                 error.what_without_backtrace());
      graphs_.reset();
      work();
      ++plain_;
      return;
    }
  }
  graph->replay();
  ++replayed_;
}

void WaitForDevice(torch::Device device) {
  if (device.is_cuda()) c10::cuda::getCurrentCUDAStream(device.index()).synchronize();
}

#else

struct GraphRunner::Graphs {};

GraphRunner::GraphRunner(torch::Device, bool) {}
GraphRunner::~GraphRunner() = default;

void GraphRunner::Run(int64_t, const std::function<void()>& work) {
  work();
  ++plain_;
}

void WaitForDevice(torch::Device) {}

#endif

}  // namespace whetstone
