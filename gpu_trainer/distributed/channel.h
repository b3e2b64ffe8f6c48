// A Channel has the c10d objects behind a RankGroup, and the one way to wait for them.
#ifndef WHETSTONE_GPU_TRAINER_DISTRIBUTED_CHANNEL_H_
#define WHETSTONE_GPU_TRAINER_DISTRIBUTED_CHANNEL_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/distributed/heartbeat.h"
#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

// Throws what a completed operation failed by, if it did. (Work::isSuccess is Gloo's alone to
// answer: NCCL's throws that it is deprecated, whatever happened.)
void ThrowIfFailed(const c10d::Work& work);

struct RankGroup::Channel {
  Channel(const RankPlace& place, const RankOptions& options) : place(place), options(options) {}
  // Joins the store, starts the heartbeats and makes the Gloo groups.
  absl::Status Open();

  // Rank 0, who holds the store, leaves last.
  void Leave();

  // Starts operations and waits for them: as long as all ranks live, if `idle`; else until nobody
  // has done any work for options.work_deadline.
  absl::Status Meet(absl::string_view what, const std::function<Works()>& start, bool idle = false);
  // Thread-safe.
  absl::Status Broken();
  // Returns the backend for tensors on `device`.
  c10d::Backend& BackendFor(torch::Device device);

  const RankPlace place;
  const RankOptions options;
  c10::intrusive_ptr<c10d::Store> store;   // Rank 0's holds the server.
  c10::intrusive_ptr<c10d::Store> queues;  // A connection of its own, for RankGroup::Push and Pop.
  std::unique_ptr<Heartbeat> heart;
  c10::intrusive_ptr<c10d::Backend> gloo;          // For words.
  c10::intrusive_ptr<c10d::Backend> gloo_tensors;  // For tensors on the CPU.
  c10::intrusive_ptr<c10d::Backend> nccl;          // Made when first needed.

 private:
  absl::Status OpenStore();
  // Waits until all ranks have come, and mean the same job.
  absl::Status Assemble();
  // Refuse writes why the job can not be into the store, for the others to find; Refused returns
  // it as every rank says it.
  absl::Status Refuse(const std::string& why);
  absl::Status Refused(const std::string& why);
  c10::intrusive_ptr<c10d::Backend> MakeGloo(const std::string& name);
  absl::Status Wait(const Works& works, bool idle);

  std::mutex mutex_;
  absl::Status broken_;  // Protected by mutex_.
};

// Makes NCCL over all ranks, for this process's current CUDA device. It is there only where
// LibTorch has CUDA.
c10::intrusive_ptr<c10d::Backend> MakeNccl(const c10::intrusive_ptr<c10d::Store>& store,
                                           const RankPlace& place, const RankOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_CHANNEL_H_
