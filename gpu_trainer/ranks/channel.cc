#include "gpu_trainer/ranks/channel.h"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "gpu_trainer/ranks/free_port.h"

namespace whetstone {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Gloo's own deadlines are out of the way: Wait knows better who is at fault.
constexpr milliseconds kNever = std::chrono::hours(24 * 365);

bool OnThisHost(const RankPlace& place) {
  return place.master_address == "127.0.0.1" || place.master_address == "localhost";
}

std::string Me(const RankPlace& place) {
  return absl::StrCat("rank ", place.rank, " of ", place.world_size);
}

std::string FirstLine(const std::exception& e) {
  const std::string text = e.what();
  return text.substr(0, text.find('\n'));
}

std::shared_ptr<gloo::transport::Device> GlooDevice(const RankPlace& place) {
  using Gloo = c10d::ProcessGroupGloo;
  if (OnThisHost(place)) return Gloo::createDeviceForHostname("127.0.0.1");
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr) return Gloo::createDeviceForInterface(interface);
  return Gloo::createDefaultDevice();
}

}  // namespace

absl::Status RankGroup::Channel::Open() {
  const std::string where = absl::StrCat(place.master_address, ":", place.master_port);
  try {
    RETURN_IF_ERROR(OpenStore());
    if (store->add(absl::StrCat("joined/", place.rank), 1) != 1) {
      return absl::AlreadyExistsError(
          absl::StrCat(Me(place), ": another process has joined with this RANK at ", where));
    }
    RETURN_IF_ERROR(WaitForAll());
    letters = store->clone();
    heart = std::make_unique<Heartbeat>(store->clone(), place.rank, place.world_size,
                                        options.heartbeat);
    auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.join_deadline);
    gloo_options->devices.push_back(GlooDevice(place));
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", store), place.rank, place.world_size,
        gloo_options);
    group->setTimeout(kNever);
    gloo = group;
  } catch (const std::exception& e) {
    return absl::UnavailableError(
        absl::StrCat(Me(place), " can not join the others at ", where, ": ", FirstLine(e)));
  }
  return absl::OkStatus();
}

absl::Status RankGroup::Channel::OpenStore() {
  c10d::TCPStoreOptions tcp;
  tcp.port = place.master_port;
  tcp.isServer = place.rank == 0;
  tcp.numWorkers = place.world_size;
  tcp.waitWorkers = false;
  tcp.timeout = options.join_deadline;
  if (tcp.isServer && OnThisHost(place)) {  // by itself it would listen on every address
    ASSIGN_OR_RETURN(tcp.masterListenFd, BindLoopback(place.master_port));
  }
  try {
    store = c10::make_intrusive<c10d::TCPStore>(place.master_address, tcp);
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat(
        Me(place),
        place.rank == 0 ? " can not listen on " : ": rank 0 does not answer at MASTER_ADDR ",
        place.master_address, ", port ", place.master_port, ": ", FirstLine(e)));
  }
  return absl::OkStatus();
}

absl::Status RankGroup::Channel::WaitForAll() {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    std::vector<std::string> missing;
    for (int r = 0; r < place.world_size; ++r) {
      if (!store->check({absl::StrCat("joined/", r)})) missing.push_back(absl::StrCat("rank ", r));
    }
    if (missing.empty()) return absl::OkStatus();
    if (std::chrono::steady_clock::now() - start > options.join_deadline) {
      return absl::UnavailableError(absl::StrCat(Me(place), ": ", absl::StrJoin(missing, ", "),
                                                 " did not join within ",
                                                 options.join_deadline.count() / 1000, " s"));
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

void RankGroup::Channel::Leave() {
  if (gloo == nullptr) return;  // it never joined
  try {
    const auto left = [this](int64_t more) { return store->add("left", more); };
    left(1);
    for (int i = 0; place.rank == 0 && i < 200 && left(0) < place.world_size; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
  } catch (const std::exception&) {
    // The others are gone already.
  }
}

c10d::Backend& RankGroup::Channel::BackendFor(torch::Device device) {
  if (!device.is_cuda()) return *gloo;
#ifdef WHETSTONE_HAVE_CUDA
  if (nccl == nullptr) nccl = MakeNccl(store, place, options);
#endif
  return *nccl;
}

absl::Status RankGroup::Channel::Broken() {
  const std::lock_guard lock(mutex_);
  if (broken_.ok() && heart != nullptr) broken_ = heart->Lost();
  return broken_;
}

absl::Status RankGroup::Channel::Meet(absl::string_view what, const std::function<Works()>& start,
                                      bool idle) {
  RETURN_IF_ERROR(Broken());
  heart->Meeting();
  absl::Status status;
  try {
    status = Wait(start(), idle);
  } catch (const std::exception& e) {
    status = heart->WhoBroke(FirstLine(e));
  }
  if (status.ok()) {
    heart->Working();
    return status;
  }
  const std::lock_guard lock(mutex_);
  broken_ = absl::Status(status.code(),
                         absl::StrCat(Me(place), ", waiting for ", what, ": ", status.message()));
  return broken_;
}

absl::Status RankGroup::Channel::Wait(const Works& works, bool idle) {
  // Sleeps are counted, not the clock: a suspended process has not waited.
  microseconds slept{0}, step{0}, since_beat{0};
  int64_t beats = heart->Beats();
  const auto done = [&] {
    return std::all_of(works.begin(), works.end(), [](const auto& w) { return w->isCompleted(); });
  };
  while (!done()) {
    step = std::clamp(slept / 20, microseconds(20), microseconds(5000));
    std::this_thread::sleep_for(step);
    slept += step;
    since_beat += step;
    if (heart->Beats() != beats) {
      beats = heart->Beats();
      since_beat = microseconds(0);
      RETURN_IF_ERROR(heart->Lost());
      if (!idle && slept > options.work_deadline &&
          heart->BeatsWithoutWork() * options.heartbeat > options.work_deadline) {
        return absl::UnavailableError(
            absl::StrCat(heart->WhoIsMissing(), " has not come, and nobody has done any work for ",
                         options.work_deadline.count() / 1000, " s"));
      }
    } else if (since_beat > 15 * options.heartbeat) {
      return absl::UnavailableError("rank 0 is gone or hangs: its store does not answer");
    }
  }
  for (const auto& work : works) {
    if (!work->isSuccess()) std::rethrow_exception(work->exception());
    work->wait();
  }
  return absl::OkStatus();
}

}  // namespace whetstone
