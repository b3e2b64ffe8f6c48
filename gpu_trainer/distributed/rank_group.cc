#include "gpu_trainer/distributed/rank_group.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "gpu_trainer/distributed/channel.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

torch::Tensor BytesTensor(size_t size) {
  return torch::zeros({static_cast<int64_t>(size)}, torch::kByte);
}

torch::Tensor CopyOf(const std::string& bytes, size_t size) {
  torch::Tensor tensor = BytesTensor(size);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

// The payload marks the error of another rank. Who failed says it again at the end of the call, and
// better.
constexpr char kRelayed[] = "whetstone/relayed";
bool IsRelayed(const absl::Status& status) { return status.GetPayload(kRelayed).has_value(); }

// Packs OK as an empty string, and any other status as its code, whether it is relayed, and its
// words.
std::string Packed(const absl::Status& status) {
  if (status.ok()) return "";
  return absl::StrCat(std::string(1, static_cast<char>(status.code())),
                      IsRelayed(status) ? "r" : "o", status.message());
}

absl::Status Unpacked(const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  absl::Status status(static_cast<absl::StatusCode>(text[0]), text.substr(2));
  if (text[1] == 'r') status.SetPayload(kRelayed, absl::Cord());
  return status;
}

}  // namespace

RankGroup::RankGroup() : RankGroup(RankPlace()) {}

RankGroup::RankGroup(const RankPlace& place) : place_(place) {}

absl::StatusOr<std::unique_ptr<RankGroup>> RankGroup::Join(const RankPlace& place,
                                                           const RankOptions& options) {
  std::unique_ptr<RankGroup> group(new RankGroup(place));
  if (place.alone()) return group;
  // Gloo writes to its sockets with writev(2): where the other rank has just gone that raises
  // SIGPIPE, which would end this one before it can say who went.
  std::signal(SIGPIPE, SIG_IGN);
  group->channel_ = std::make_unique<Channel>(place, options);
  RETURN_IF_ERROR(group->channel_->Open());
  return group;
}

RankGroup::~RankGroup() {
  if (channel_ == nullptr) return;
  const bool intact = broken().ok();
  channel_->heart.reset();
  if (intact) {
    channel_->Leave();
  } else {
    // Gloo's threads wait for operations that will never end: they may not be joined.
    channel_->gloo.release();
    channel_->gloo_tensors.release();
    channel_->nccl.release();
  }
}

absl::Status RankGroup::broken() const {
  return channel_ == nullptr ? absl::OkStatus() : channel_->Broken();
}

void RankGroup::Working() {
  if (channel_ != nullptr) channel_->heart->Working();
}

absl::Status RankGroup::StatusBarrier(absl::string_view what,
                                      const std::function<absl::Status()>& work) {
  if (alone()) return work();
  absl::Status mine;
  std::exception_ptr exception;
  try {
    mine = work();
  } catch (const std::exception& e) {
    exception = std::current_exception();
    const std::string words = e.what();
    mine = absl::InternalError(words.substr(0, words.find('\n')));
  }
  const PartScope scope(Part::kWaiting);
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<std::vector<std::string>> all = AllGather(what, Packed(mine));
  traffic_.wait_s += std::chrono::duration<double>(Clock::now() - start).count();
  RETURN_IF_ERROR(all.status());
  if (exception != nullptr) std::rethrow_exception(exception);
  if (!mine.ok() && !IsRelayed(mine)) return mine;
  for (size_t r = 0; r < all->size(); ++r) {
    const absl::Status status = Unpacked((*all)[r]);
    if (status.ok() || IsRelayed(status)) continue;
    absl::Status relayed(status.code(),
                         absl::StrCat(what, ": rank ", r, " failed: ", status.message()));
    relayed.SetPayload(kRelayed, absl::Cord());
    return relayed;
  }
  return mine;
}

absl::StatusOr<std::vector<std::string>> RankGroup::AllGather(absl::string_view what,
                                                              const std::string& mine) {
  if (alone()) return std::vector<std::string>{mine};
  const size_t n = static_cast<size_t>(size());
  // The lengths are gathered first, then everything at the longest one's.
  std::vector<torch::Tensor> lengths(n);
  for (torch::Tensor& length : lengths) length = torch::zeros({1}, torch::kLong);
  const auto gather = [&](std::vector<torch::Tensor>& all, torch::Tensor own) {
    return channel_->Meet(what, [&] {
      std::vector<std::vector<torch::Tensor>> out = {all};
      std::vector<torch::Tensor> in = {std::move(own)};
      return Works{channel_->gloo->allgather(out, in)};
    });
  };
  RETURN_IF_ERROR(
      gather(lengths, torch::full({1}, static_cast<int64_t>(mine.size()), torch::kLong)));
  size_t longest = 0;
  for (const torch::Tensor& length : lengths) {
    longest = std::max(longest, static_cast<size_t>(length.item<int64_t>()));
  }
  std::vector<std::string> all(n);
  if (longest == 0) return all;
  std::vector<torch::Tensor> texts(n);
  for (torch::Tensor& text : texts) text = BytesTensor(longest);
  RETURN_IF_ERROR(gather(texts, CopyOf(mine, longest)));
  for (size_t r = 0; r < n; ++r) {
    all[r].assign(static_cast<const char*>(texts[r].const_data_ptr()),
                  static_cast<size_t>(lengths[r].item<int64_t>()));
  }
  return all;
}

absl::StatusOr<std::vector<std::vector<double>>> RankGroup::AllGatherNumbers(
    absl::string_view what, const std::vector<double>& mine) {
  if (alone()) return std::vector<std::vector<double>>{mine};
  std::string bytes(mine.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), mine.data(), bytes.size());
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(what, bytes));
  std::vector<std::vector<double>> numbers;
  for (const std::string& one : all) {
    numbers.emplace_back(mine.size());
    CHECK(one.size() == bytes.size());
    std::memcpy(numbers.back().data(), one.data(), one.size());
  }
  return numbers;
}

absl::Status RankGroup::AllReduceNumbers(absl::string_view what,
                                         const std::vector<double*>& numbers) {
  if (alone()) return absl::OkStatus();
  std::vector<double> mine;
  for (double* const number : numbers) mine.push_back(std::exchange(*number, 0));
  ASSIGN_OR_RETURN(const std::vector<std::vector<double>> all, AllGatherNumbers(what, mine));
  for (const std::vector<double>& one : all) {
    for (size_t i = 0; i < numbers.size(); ++i) *numbers[i] += one[i];
  }
  return absl::OkStatus();
}

absl::Status RankGroup::CheckEqual(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (alone()) return absl::OkStatus();
  for (const auto& [name, value] : facts) {
    ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(name, value));
    for (size_t r = 1; r < all.size(); ++r) {
      if (all[r] == all[0]) continue;
      return absl::InvalidArgumentError(absl::StrCat("rank ", r, " has another ", name,
                                                     " than rank 0: ", all[r], ", not ", all[0],
                                                     "; all ranks must be alike"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RankGroup::Broadcast(const std::string& bytes) {
  if (alone()) return bytes;
  const auto broadcast = [&](const torch::Tensor& tensor) {
    return channel_->Meet(
        "the next command",
        [&] {
          std::vector<torch::Tensor> one = {tensor};
          return Works{channel_->gloo->broadcast(one)};
        },
        /*idle=*/rank() != 0);
  };
  const torch::Tensor length =
      torch::full({1}, static_cast<int64_t>(rank() == 0 ? bytes.size() : 0), torch::kLong);
  RETURN_IF_ERROR(broadcast(length));
  const size_t size = static_cast<size_t>(length.item<int64_t>());
  const torch::Tensor content = rank() == 0 ? CopyOf(bytes, size) : BytesTensor(size);
  if (size > 0) RETURN_IF_ERROR(broadcast(content));
  return std::string(static_cast<const char*>(content.const_data_ptr()), size);
}

absl::Status RankGroup::Push(const std::string& queue, const std::string& bytes) {
  try {
    channel_->queues->queuePush(queue, {bytes.begin(), bytes.end()});
    // Nobody answers a push. This answer comes after it, on the same connection.
    channel_->queues->queueLen(queue);
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("rank 0's store does not answer: ", e.what()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> RankGroup::Pop(const std::string& queue) {
  try {
    if (channel_->queues->queueLen(queue) == 0) return std::nullopt;
    const std::vector<uint8_t> bytes = channel_->queues->queuePop(queue, /*block=*/false);
    return std::string(bytes.begin(), bytes.end());
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("rank 0's store does not answer: ", e.what()));
  }
}

}  // namespace whetstone
