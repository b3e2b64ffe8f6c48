#include "tests/system/lossy_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kDevice[] = "whet0";

absl::Status Write(const char* path, const std::string& text) {
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
  if (!fd || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

ifreq Named(const char* device) {
  ifreq request = {};
  std::strncpy(request.ifr_name, device, sizeof(request.ifr_name) - 1);
  return request;
}

absl::Status BringUp(const char* device) {
  const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = Named(device);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot bring up ", device));
  }
  return absl::OkStatus();
}

absl::Status SetAddress(unsigned long what, const char* address) {
  const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = Named(kDevice);
  sockaddr_in value = {};
  value.sin_family = AF_INET;
  CHECK(inet_pton(AF_INET, address, &value.sin_addr) == 1);
  std::memcpy(&request.ifr_addr, &value, sizeof(value));
  if (ioctl(any.get(), what, &request) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot give ", kDevice, " ", address));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EnterOwnNetwork() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(uid == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    return absl::ErrnoToStatus(errno, "no network namespace");
  }
  if (uid != 0) {
    RETURN_IF_ERROR(Write("/proc/self/setgroups", "deny"));
    RETURN_IF_ERROR(Write("/proc/self/uid_map", absl::StrCat(uid, " ", uid, " 1")));
    RETURN_IF_ERROR(Write("/proc/self/gid_map", absl::StrCat(gid, " ", gid, " 1")));
  }
  return BringUp("lo");
}

absl::StatusOr<std::unique_ptr<LossyLink>> LossyLink::Open(std::chrono::milliseconds one_way,
                                                           int lose_every) {
  UniqueFd device(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device) return absl::ErrnoToStatus(errno, "cannot open /dev/net/tun");
  ifreq request = Named(kDevice);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(device.get(), TUNSETIFF, &request) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a TUN device");
  }
  RETURN_IF_ERROR(SetAddress(SIOCSIFADDR, kNear));
  RETURN_IF_ERROR(SetAddress(SIOCSIFNETMASK, "255.255.255.0"));
  RETURN_IF_ERROR(BringUp(kDevice));
  return std::unique_ptr<LossyLink>(new LossyLink(std::move(device), one_way, lose_every));
}

LossyLink::LossyLink(UniqueFd device, std::chrono::milliseconds one_way, int lose_every)
    : device_(std::move(device)), one_way_(one_way), lose_every_(lose_every) {
  thread_ = std::thread([this] { Run(); });
}

LossyLink::~LossyLink() {
  stop_ = true;
  thread_.join();
}

void LossyLink::Run() {
  struct Packet {
    Clock::time_point due;
    std::string bytes;
  };
  std::deque<Packet> on_the_way;
  std::array<char, 2048> buffer;
  while (!stop_) {
    Clock::time_point next = Clock::now() + std::chrono::milliseconds(20);
    if (!on_the_way.empty()) next = std::min(next, on_the_way.front().due);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    pollfd p = {device_.get(), POLLIN, 0};
    poll(&p, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    for (ssize_t n; (n = read(device_.get(), buffer.data(), buffer.size())) > 0;) {
      if (n < 20 || (buffer[0] >> 4) != 4) continue;  // IPv6 asks for neighbours
      if (++packets_ % lose_every_ == 0) {
        ++lost_;
        continue;
      }
      // RFC 791 has the source at byte 12 and the destination at byte 16.
      std::swap_ranges(buffer.begin() + 12, buffer.begin() + 16, buffer.begin() + 16);
      on_the_way.push_back(
          {Clock::now() + one_way_, std::string(buffer.data(), static_cast<size_t>(n))});
    }
    for (; !on_the_way.empty() && on_the_way.front().due <= Clock::now(); on_the_way.pop_front()) {
      const std::string& bytes = on_the_way.front().bytes;
      (void)!write(device_.get(), bytes.data(), bytes.size());
    }
  }
}

}  // namespace whetstone
