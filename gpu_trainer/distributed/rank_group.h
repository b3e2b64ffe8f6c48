// The processes that train one policy together, and how they talk: an axis of the mesh of all
// ranks. There is one axis now, data parallelism, so one group of all; ranks that will share a long
// sequence or a layer will be groups of their own.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> ranks, RankGroup::Join(place, {}));
//   RETURN_IF_ERROR(ranks->Together("the forward pass", [&] { return ComputeMyShare(); }));
//   RETURN_IF_ERROR(ranks->Sum("gradients", gradients));          // in place, the same bits on all
//
//   const RankGroup::Finish finish = ranks->StartSum("gradients of layers.3", gradient);
//   … other work …
//   RETURN_IF_ERROR(finish());
//
// Every rank calls the same functions in the same order; each call meets the others. On c10d: Gloo
// for CPU tensors and, in a group of its own, for words, so that words pass by the tensors that are
// on their way; NCCL for CUDA tensors. A group of one makes no c10d object and every call returns
// at once.
//
// Errors. A rank that fails at its own work says so (Together) and all go on in step. A rank that
// is gone, or does no work for a deadline while the others wait, makes every later call UNAVAILABLE
// with its name: the group is broken for good, and its processes should end and be launched anew.
//
// Not thread-safe, but for Post, Take, Working and broken.
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
  // From the first rank's start until all have joined.
  std::chrono::milliseconds join_deadline{120'000};
  // Longest that ranks wait for one that lives but does no work.
  std::chrono::milliseconds work_deadline{600'000};
  // A rank that misses 15 of these is gone.
  std::chrono::milliseconds heartbeat{1000};
};

// What talking has cost this rank so far.
struct RankTraffic {
  double wait_s = 0;  // for ranks that were still at work
  // With tensors on their way, from the start on this rank to the end; they begin to move when all
  // ranks have started.
  double communication_s = 0;
  double hidden_s = 0;  // of communication_s: this rank did not wait for them
  double bytes = 0;     // of tensors, sent by this rank
};

class RankGroup {
 public:
  // Alone: rank 0 of 1.
  RankGroup();
  // Meets the others at place.master_address, where rank 0 must be. UNAVAILABLE: who did not come
  // until the deadline, or that rank 0 does not answer. INVALID_ARGUMENT, on all ranks: two have
  // the same RANK, or one another WORLD_SIZE than rank 0; it is named.
  static absl::StatusOr<std::unique_ptr<RankGroup>> Join(const RankPlace& place,
                                                         const RankOptions& options);
  // A broken group leaves its connections to the end of the process.
  ~RankGroup();

  int rank() const { return place_.rank; }
  int size() const { return place_.world_size; }
  bool alone() const { return place_.alone(); }
  const RankPlace& place() const { return place_; }

  // Runs `work` on each rank, which may itself meet the others. OK when it was OK on all; else, on
  // a rank where it failed, its own error or exception, on the others that of the first that
  // failed, with its name. `what` names it in errors, as everywhere here.
  absl::Status Together(absl::string_view what, const std::function<absl::Status()>& work);

  // Each tensor (contiguous, fp32 or fp64, on one device, of the same shape on all ranks) becomes
  // the sum over the ranks.
  absl::Status Sum(absl::string_view what, const std::vector<torch::Tensor>& tensors);

  // What was started goes on by itself until this, called once, has waited for it; nobody may touch
  // its tensor meanwhile. All ranks start the same in the same order and finish in one order, also
  // where something else has failed on one of them: the others would wait for it. Whatever went
  // wrong this returns. The group must outlive it.
  using Finish = std::function<absl::Status()>;
  // Sum, of one tensor.
  Finish StartSum(absl::string_view what, const torch::Tensor& tensor);
  // The other way round: each rank's part of something goes to all. rows [size(), n] of any type,
  // of which this rank's row is filled in.
  Finish StartExchange(absl::string_view what, const torch::Tensor& rows);

  // Rank 0 gets the bytes of all, by rank; the others get nothing. mine: flat, kByte, on the CPU;
  // `sizes`: how many each rank gives.
  absl::StatusOr<std::vector<torch::Tensor>> ToFirst(absl::string_view what,
                                                     const torch::Tensor& mine,
                                                     const std::vector<int64_t>& sizes);

  // What each rank gave, by rank.
  absl::StatusOr<std::vector<std::string>> Gather(absl::string_view what, const std::string& mine);
  // The same for numbers, of which all give equally many.
  absl::StatusOr<std::vector<std::vector<double>>> GatherNumbers(absl::string_view what,
                                                                 const std::vector<double>& mine);
  // Each becomes the sum of what the ranks gave, by rank: the same bits on all.
  absl::Status SumNumbers(absl::string_view what, const std::vector<double*>& numbers);
  // INVALID_ARGUMENT on all ranks, unless all gave the same: names the first that differs from rank
  // 0, and where. `facts`: name and value.
  absl::Status CheckEqual(const std::vector<std::pair<std::string, std::string>>& facts);

  // Rank 0's bytes, on all. The others wait as long as rank 0 lives.
  absl::StatusOr<std::string> FromFirst(const std::string& bytes);

  // Letter boxes: what was posted to one is taken once, in order, by any rank. Of at most 8 MiB.
  absl::Status Post(const std::string& box, const std::string& bytes);
  absl::StatusOr<std::optional<std::string>> Take(const std::string& box);

  // A piece of work was done: others that wait may go on waiting.
  void Working();

  // Ranks that share this one's memory on `device`: those of this host, but a GPU is a rank's own.
  int sharing(torch::Device device) const { return device.is_cuda() ? 1 : place_.local_size; }
  const RankTraffic& traffic() const { return traffic_; }
  // UNAVAILABLE: a rank is gone, as a call has found, or its heartbeats that stopped.
  absl::Status broken() const;

 private:
  struct Channel;  // all of c10d

  explicit RankGroup(const RankPlace& place);
  // Starts an operation on tensors, of which this rank sends so many bytes.
  Finish Start(absl::string_view what, double bytes, bool on_cpu,
               const std::function<c10::intrusive_ptr<c10d::Work>()>& start);

  const RankPlace place_;
  RankTraffic traffic_;
  std::chrono::steady_clock::time_point counted_until_;  // in traffic_.communication_s
  std::unique_ptr<Channel> channel_;                     // null: alone
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_GROUP_H_
