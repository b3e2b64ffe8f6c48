// These are RankGroup's collectives on tensors.
#include <algorithm>
#include <exception>

#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "gpu_trainer/distributed/channel.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

absl::Status RankGroup::AllReduce(absl::string_view what,
                                  const std::vector<torch::Tensor>& tensors) {
  std::vector<Finish> sums;
  for (const torch::Tensor& tensor : tensors) sums.push_back(StartAllReduce(what, tensor));
  for (const Finish& finish : sums) RETURN_IF_ERROR(finish());
  return absl::OkStatus();
}

RankGroup::Finish RankGroup::StartAllReduce(absl::string_view what, const torch::Tensor& tensor) {
  // A ring sends each number twice, except the rank's own share.
  const double bytes = 2.0 * (size() - 1) / size() * static_cast<double>(tensor.nbytes());
  return Start(what, bytes, tensor.is_cpu(), [&] {
    std::vector<torch::Tensor> one = {tensor};
    return channel_->BackendFor(tensor.device()).allreduce(one);
  });
}

RankGroup::Finish RankGroup::Start(absl::string_view what, double bytes, bool on_cpu,
                                   const std::function<c10::intrusive_ptr<c10d::Work>()>& start) {
  if (alone()) return [] { return absl::OkStatus(); };
  const Clock::time_point begin = Clock::now();
  // The thread that does the work writes it before the work is complete.
  const auto end = std::make_shared<Clock::time_point>();
  Works works;
  std::exception_ptr failure;
  // Where the group is broken, Finish says so.
  if (broken().ok()) {
    try {
      works.push_back(start());
      // NCCL's future is complete when the work is queued: nobody says when it ends.
      if (on_cpu) {
        works[0]->getFuture()->addCallback([end](c10::ivalue::Future&) { *end = Clock::now(); });
      }
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  }
  return [this, what = std::string(what), bytes, begin, end, works, failure]() -> absl::Status {
    const PartScope scope(Part::kCommunication, 0, bytes);
    const Clock::time_point waiting_since = Clock::now();
    RETURN_IF_ERROR(channel_->Meet(what, [&] {
      if (failure != nullptr) std::rethrow_exception(failure);
      return works;
    }));
    if (*end == Clock::time_point()) *end = Clock::now();
    TraceBeside(what, begin, *end);
    // Several are on their way at once; no moment counts twice.
    const Clock::time_point from = std::max(begin, counted_until_);
    counted_until_ = std::max(*end, counted_until_);
    const double on_the_way_s = std::max(0.0, Seconds(from, *end));
    traffic_.communication_s += on_the_way_s;
    traffic_.hidden_s +=
        std::clamp(Seconds(from, std::min(*end, waiting_since)), 0.0, on_the_way_s);
    traffic_.bytes += bytes;
    return absl::OkStatus();
  };
}

RankGroup::Finish RankGroup::StartAllGather(absl::string_view what, const torch::Tensor& rows) {
  // A ring carries every other rank's row over each link.
  const double bytes = static_cast<double>(rows.nbytes()) * (size() - 1) / size();
  return Start(what, bytes, rows.is_cpu(), [&] {
    torch::Tensor out = rows, mine = rows.narrow(0, rank(), 1);
    return channel_->BackendFor(rows.device())._allgather_base(out, mine);
  });
}

absl::StatusOr<std::vector<torch::Tensor>> RankGroup::Gather(absl::string_view what,
                                                             const torch::Tensor& mine,
                                                             const std::vector<int64_t>& sizes) {
  if (alone()) return std::vector<torch::Tensor>{mine};
  // c10d gathers pieces of one size.
  const int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<torch::Tensor> in = {mine};
  if (mine.numel() < longest) {
    in[0] = torch::zeros({longest}, torch::kByte);
    in[0].narrow(0, 0, mine.numel()).copy_(mine);
  }
  std::vector<std::vector<torch::Tensor>> out;
  if (rank() == 0) {
    out.emplace_back();
    for (size_t r = 0; r < sizes.size(); ++r) {
      out[0].push_back(torch::empty({longest}, torch::kByte));
    }
  }
  RETURN_IF_ERROR(channel_->Meet(
      what, [&] { return Works{channel_->BackendFor(torch::kCPU).gather(out, in)}; }));
  if (rank() > 0) return std::vector<torch::Tensor>();
  for (size_t r = 0; r < sizes.size(); ++r) out[0][r] = out[0][r].narrow(0, 0, sizes[r]);
  return out[0];
}

}  // namespace whetstone
