#include "cpu_bench_worker/screen/screen_protocol.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

bool ReadAll(int fd, Clock::time_point deadline, char* data, size_t size) {
  while (size > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd entry = {fd, POLLIN, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 3'600'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) continue;
    const ssize_t n = read(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool SendFrame(int fd, const std::string& text) {
  if (text.size() > kScreenMessageBytesMax) return false;
  const auto length = static_cast<uint32_t>(text.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += text;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

bool ReceiveFrame(int fd, std::chrono::milliseconds deadline, std::string* text) {
  const Clock::time_point end = Clock::now() + deadline;
  uint32_t length = 0;
  if (!ReadAll(fd, end, reinterpret_cast<char*>(&length), sizeof length)) return false;
  if (length > kScreenMessageBytesMax) return false;
  text->resize(length);
  return ReadAll(fd, end, text->data(), length);
}

}  // namespace whetstone
