#include "gpu_trainer/distributed/heartbeat.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace whetstone {
namespace {

constexpr int kSilentMax = 15;
// A process that is silent for so long has ended; a busy machine's hiccup is shorter.
constexpr int kSilentOfTheDead = 4;

std::string Key(int rank) { return absl::StrCat("beat/", rank); }

}  // namespace

Heartbeat::Heartbeat(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                     std::chrono::milliseconds period)
    : store_(std::move(store)), rank_(rank), size_(size), period_(period), others_(size) {
  Write();
  thread_ = std::thread([this] { Loop(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Heartbeat::Write() {
  store_->set(Key(rank_), absl::StrCat(++written_, " ", work_.load(), " ", meetings_.load()));
}

void Heartbeat::Read() {
  for (int r = 0; r < size_; ++r) {
    if (r == rank_ || !store_->check({Key(r)})) continue;
    const std::string text = store_->get_to_str(Key(r));
    const std::lock_guard lock(mutex_);
    Other& other = others_[static_cast<size_t>(r)];
    other.silent = text == other.last ? other.silent + 1 : 0;
    if (text == other.last) continue;
    other.last = text;
    int64_t beats = 0, work = 0;
    std::istringstream(text) >> beats >> work >> other.meetings;
    if (work != other.work) without_work_ = 0;
    other.work = work;
  }
}

void Heartbeat::Loop() {
  int64_t own_work = 0;
  while (true) {
    std::string error;
    try {
      Write();
      Read();
    } catch (const std::exception& e) {
      error = e.what();
    }
    std::unique_lock lock(mutex_);
    ++beats_;
    ++without_work_;
    if (work_ != own_work) without_work_ = 0;
    own_work = work_;
    if (!error.empty()) store_error_ = error.substr(0, error.find('\n'));
    changed_.notify_all();
    if (!error.empty()) return;
    if (changed_.wait_for(lock, period_, [this] { return stopping_; })) return;
  }
}

absl::Status Heartbeat::Lost() const {
  const std::lock_guard lock(mutex_);
  if (!store_error_.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "rank 0 is gone: the store it held for all ranks does not answer (", store_error_, ")"));
  }
  for (int r = 0; r < size_; ++r) {
    if (others_[static_cast<size_t>(r)].silent < kSilentMax) continue;
    return absl::UnavailableError(absl::StrCat("rank ", r, " is gone: silent for ", kSilentMax,
                                               " heartbeats of ", period_.count(), " ms"));
  }
  return absl::OkStatus();
}

absl::Status Heartbeat::WhoBroke(const std::string& what) const {
  std::unique_lock lock(mutex_);
  const auto longest = [this] {
    const auto it =
        std::max_element(others_.begin(), others_.end(),
                         [](const Other& a, const Other& b) { return a.silent < b.silent; });
    return static_cast<int>(it - others_.begin());
  };
  const auto told = [&] {
    return !store_error_.empty() ||
           others_[static_cast<size_t>(longest())].silent >= kSilentOfTheDead;
  };
  // The wait takes twice that and no more, because where only a connection broke nobody is silent.
  changed_.wait_for(lock, 2 * kSilentOfTheDead * period_, told);
  if (!store_error_.empty()) {
    return absl::UnavailableError(absl::StrCat("rank 0 is gone: ", what));
  }
  if (!told()) {
    return absl::UnavailableError(absl::StrCat("all ranks live, but a connection broke: ", what));
  }
  return absl::UnavailableError(absl::StrCat("rank ", longest(), " is gone: ", what));
}

int64_t Heartbeat::Beats() const {
  const std::lock_guard lock(mutex_);
  return beats_;
}

int Heartbeat::BeatsWithoutWork() const {
  const std::lock_guard lock(mutex_);
  return without_work_;
}

std::string Heartbeat::WhoIsMissing() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> missing;
  for (int r = 0; r < size_; ++r) {
    if (r != rank_ && others_[static_cast<size_t>(r)].meetings < meetings_) {
      missing.push_back(absl::StrCat("rank ", r));
    }
  }
  return missing.empty() ? "no rank" : absl::StrJoin(missing, ", ");
}

}  // namespace whetstone
