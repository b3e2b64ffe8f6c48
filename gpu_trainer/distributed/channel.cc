#include "gpu_trainer/distributed/channel.h"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "gpu_trainer/distributed/free_port.h"

namespace whetstone {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Gloo's own deadlines never come: Wait knows better who is at fault.
constexpr milliseconds kNever = std::chrono::hours(24 * 365);

// These keys of the store hold rank 0's WORLD_SIZE, why this job can not be, and how many ranks
// know that.
constexpr char kWorldSize[] = "world_size";
constexpr char kRefused[] = "refused";
constexpr char kTold[] = "told";

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

void ThrowIfFailed(const c10d::Work& work) {
  if (const std::exception_ptr failure = work.exception()) std::rethrow_exception(failure);
}

absl::Status RankGroup::Channel::Open() {
  const std::string where = absl::StrCat(place.master_address, ":", place.master_port);
  try {
    RETURN_IF_ERROR(OpenStore());
    RETURN_IF_ERROR(Assemble());
    queues = store->clone();
    heart = std::make_unique<Heartbeat>(store->clone(), place.rank, place.world_size,
                                        options.heartbeat);
    gloo = MakeGloo("gloo");
    gloo_tensors = MakeGloo("gloo_tensors");
  } catch (const std::exception& e) {
    return absl::UnavailableError(
        absl::StrCat(Me(place), " can not join the others at ", where, ": ", FirstLine(e)));
  }
  return absl::OkStatus();
}

c10::intrusive_ptr<c10d::Backend> RankGroup::Channel::MakeGloo(const std::string& name) {
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.join_deadline);
  gloo_options->devices.push_back(GlooDevice(place));
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>(name, store), place.rank, place.world_size,
      gloo_options);
  group->setTimeout(kNever);
  return group;
}

absl::Status RankGroup::Channel::OpenStore() {
  c10d::TCPStoreOptions tcp;
  tcp.port = place.master_port;
  tcp.isServer = place.rank == 0;
  tcp.numWorkers = place.world_size;
  tcp.waitWorkers = false;
  tcp.timeout = options.join_deadline;
  if (tcp.isServer && OnThisHost(place)) {  // By itself it would listen on every address.
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

absl::Status RankGroup::Channel::Assemble() {
  const auto start = std::chrono::steady_clock::now();
  const std::string world_size = absl::StrCat(place.world_size);
  if (place.rank == 0) store->set(kWorldSize, world_size);
  bool joined = false;
  while (true) {
    if (store->check({kRefused})) return Refused(store->get_to_str(kRefused));
    // Nobody joins before it knows that all mean the same job: then rank 0 does not go on, either.
    if (!joined && store->check({kWorldSize})) {
      const std::string wanted = store->get_to_str(kWorldSize);
      if (wanted != world_size) {
        return Refuse(absl::StrCat("rank ", place.rank, " was started with WORLD_SIZE ", world_size,
                                   ", rank 0 with ", wanted, "; all ranks must be alike"));
      }
      if (store->add(absl::StrCat("joined/", place.rank), 1) != 1) {
        return Refuse(absl::StrCat("two processes were started with RANK ", place.rank));
      }
      joined = true;
    }
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

absl::Status RankGroup::Channel::Refuse(const std::string& why) {
  store->set(kRefused, why);
  return Refused(why);
}

absl::Status RankGroup::Channel::Refused(const std::string& why) {
  store->add(kTold, 1);
  // The store goes with rank 0, and the others may not have looked yet.
  for (int i = 0; place.rank == 0 && i < 150 && store->add(kTold, 0) < place.world_size; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  return absl::InvalidArgumentError(absl::StrCat(Me(place), ": ", why));
}

void RankGroup::Channel::Leave() {
  if (gloo_tensors == nullptr) return;  // It never joined.
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
  if (!device.is_cuda()) return *gloo_tensors;
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
    ThrowIfFailed(*work);
    work->wait();
  }
  return absl::OkStatus();
}

}  // namespace whetstone
