#include "sandbox/init/report.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace whetstone {

void SendOrDie(const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = send(kControlFd, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) _exit(1);
    at += sent;
    size -= static_cast<size_t>(sent);
  }
}

void FailSetup(SetupStep step, int error, std::string_view detail) {
  Message message;
  message.kind = MessageKind::kSetupFailed;
  message.step = step;
  message.error = error;
  const size_t size =
      detail.size() < sizeof(message.detail) ? detail.size() : sizeof(message.detail) - 1;
  std::memcpy(message.detail, detail.data(), size);
  SendOrDie(&message, sizeof(message));
  _exit(1);
}

}  // namespace whetstone
