// A RankGroup is the processes that train one policy together, and how they talk: an axis of the
// mesh of all ranks. There is one axis now, data parallelism, so one group of all; ranks that will
// share a long sequence or a layer will be groups of their own.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> ranks, RankGroup::Join(place, {}));
//   RETURN_IF_ERROR(ranks->StatusBarrier("the forward pass", [&] { return ComputeMyShare(); }));
//   RETURN_IF_ERROR(ranks->AllReduce("gradients", gradients));    // in place, the same bits on all
//
//   const RankGroup::Finish finish = ranks->StartAllReduce("gradients of layers.3", gradient);
//   … other work …
//   RETURN_IF_ERROR(finish());
//
// Every rank calls the same functions in the same order; each call meets the others. It runs on
// c10d: Gloo serves CPU tensors and, in a group of its own, words, so that words pass by the
// tensors that are on their way; NCCL serves CUDA tensors. A group of one makes no c10d object and
// every call returns at once.
//
// A rank that fails at its own work says so (StatusBarrier) and all go on in step. A rank that is
// gone, or does no work for a deadline while the others wait, makes every later call UNAVAILABLE
// with its name: the group is broken for good, and its processes should end and be launched anew.
// `what` names a call in errors.
//
// It is not thread-safe, but for Push, Pop, Working and broken.
#ifndef WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_GROUP_H_
#define WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_GROUP_H_

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/distributed/rank_place.h"

namespace c10d {
class Work;
}

namespace whetstone {

struct RankOptions {
  // It runs from the first rank's start until all have joined.
  std::chrono::milliseconds join_deadline{120'000};
  // Ranks wait at most so long for one that lives but does no work.
  std::chrono::milliseconds work_deadline{600'000};
  // A rank that misses 15 of these is gone.
  std::chrono::milliseconds heartbeat{1000};
};

// RankTraffic is what talking has cost this rank so far.
struct RankTraffic {
  double wait_s = 0;  // Spent waiting for ranks that were still at work.
  // The time with tensors on their way, from the start on this rank to the end; they begin to move
  // when all ranks have started.
  double communication_s = 0;
  double hidden_s = 0;  // The share of it in which this rank did not wait for them.
  double bytes = 0;     // The bytes of tensors that this rank sent.
};

class RankGroup {
 public:
  // Makes a group of one: rank 0 of 1.
  RankGroup();
  // Meets the others at place.master_address, where rank 0 must be. UNAVAILABLE: who did not come
  // until the deadline, or that rank 0 does not answer. INVALID_ARGUMENT, on all ranks: two have
  // the same RANK, or one another WORLD_SIZE than rank 0; it is named. A process of several ranks
  // ignores SIGPIPE from here on.
  static absl::StatusOr<std::unique_ptr<RankGroup>> Join(const RankPlace& place,
                                                         const RankOptions& options);
  // A broken group leaves its connections to the end of the process.
  ~RankGroup();

  int rank() const { return place_.rank; }
  int size() const { return place_.world_size; }
  bool alone() const { return place_.alone(); }
  const RankPlace& place() const { return place_; }

  // Runs `work`, which may itself meet the others, and waits until all ranks have run theirs. OK
  // when it was OK on all; else, on a rank where it failed, its own error or exception, on the
  // others that of the first that failed, with its name.
  absl::Status StatusBarrier(absl::string_view what, const std::function<absl::Status()>& work);

  // These are collectives on tensors (tensor_collectives.cc).

  // Each tensor (contiguous, fp32 or fp64, on one device, of the same shape on all ranks) becomes
  // the sum over the ranks.
  absl::Status AllReduce(absl::string_view what, const std::vector<torch::Tensor>& tensors);

  // What was started goes on by itself until this, called once, has waited for it; nobody may touch
  // its tensor meanwhile. All ranks start the same in the same order and finish in one order, also
  // where something else has failed on one of them: the others would wait for it. Whatever went
  // wrong this returns. The group must outlive it.
  using Finish = std::function<absl::Status()>;
  // Starts AllReduce of one tensor.
  Finish StartAllReduce(absl::string_view what, const torch::Tensor& tensor);
  // Every rank's row goes to all. rows [size(), n] of any type, of which this rank's row is filled
  // in.
  Finish StartAllGather(absl::string_view what, const torch::Tensor& rows);

  // Rank 0 gets the bytes of all, by rank; the others get nothing. `mine` is flat, kByte, on the
  // CPU; `sizes` says how many bytes each rank gives.
  absl::StatusOr<std::vector<torch::Tensor>> Gather(absl::string_view what,
                                                    const torch::Tensor& mine,
                                                    const std::vector<int64_t>& sizes);

  // These are collectives on words and numbers.

  // Returns what each rank gave, by rank.
  absl::StatusOr<std::vector<std::string>> AllGather(absl::string_view what,
                                                     const std::string& mine);
  // Does the same for numbers, of which all give equally many.
  absl::StatusOr<std::vector<std::vector<double>>> AllGatherNumbers(
      absl::string_view what, const std::vector<double>& mine);
  // Each number becomes the sum of what the ranks gave, added by rank: the same bits on all.
  absl::Status AllReduceNumbers(absl::string_view what, const std::vector<double*>& numbers);
  // INVALID_ARGUMENT on all ranks, unless all gave the same: names the first that differs from rank
  // 0, and where. A fact is a name and a value.
  absl::Status CheckEqual(const std::vector<std::pair<std::string, std::string>>& facts);

  // Returns rank 0's bytes on all ranks. The others wait as long as rank 0 lives.
  absl::StatusOr<std::string> Broadcast(const std::string& bytes);

  // Push and Pop use queues by name: what was pushed to one, at most 8 MiB at a time, is popped
  // once, in order, by any rank, as soon as Push has returned. Pop returns nullopt from an empty
  // queue.
  absl::Status Push(const std::string& queue, const std::string& bytes);
  absl::StatusOr<std::optional<std::string>> Pop(const std::string& queue);

  // A piece of work was done: others that wait may go on waiting.
  void Working();

  // Returns how many ranks share this one's memory on `device`: those of this host, but a GPU is a
  // rank's own.
  int sharing(torch::Device device) const { return device.is_cuda() ? 1 : place_.local_size; }
  const RankTraffic& traffic() const { return traffic_; }
  // UNAVAILABLE: a rank is gone, as a call has found, or its heartbeats that stopped.
  absl::Status broken() const;

 private:
  struct Channel;  // All of c10d.

  explicit RankGroup(const RankPlace& place);
  // Starts an operation on tensors, of which this rank sends so many bytes.
  Finish Start(absl::string_view what, double bytes, bool on_cpu,
               const std::function<c10::intrusive_ptr<c10d::Work>()>& start);

  const RankPlace place_;
  RankTraffic traffic_;
  // traffic_.communication_s is counted up to here.
  std::chrono::steady_clock::time_point counted_until_;
  std::unique_ptr<Channel> channel_;  // Null: alone.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_GROUP_H_
