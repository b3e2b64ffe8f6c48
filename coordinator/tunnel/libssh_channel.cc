#include "coordinator/tunnel/libssh_channel.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// libssh sends on a blocking socket. A socket that poll calls writable takes at least this much
// without blocking (a third of its buffer is free).
constexpr size_t kWriteBytesMax = 16 << 10;

}  // namespace

LibsshChannel::LibsshChannel(SshSession* session, const RemoteEnd& remote)
    : session_(session), remote_(remote), channel_(ssh_channel_new(session->get())) {
  CHECK(channel_ != nullptr);
  ssh_callbacks_init(&callbacks_);
  callbacks_.userdata = this;
  callbacks_.channel_data_function = &LibsshChannel::OnData;
  callbacks_.channel_eof_function = &LibsshChannel::OnEnd;
  callbacks_.channel_close_function = &LibsshChannel::OnEnd;
  CHECK(ssh_add_channel_callbacks(channel_, &callbacks_) == SSH_OK);
}

LibsshChannel::~LibsshChannel() {
  // libssh keeps a freed channel until the peer has closed it too, and would call back into us.
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(channel_);
}

absl::StatusOr<bool> LibsshChannel::TryOpen() {
  const bool tcp = remote_.path.empty();
  const int rc =
      tcp ? ssh_channel_open_forward(channel_, remote_.host.c_str(), remote_.port, "127.0.0.1", 0)
          : ssh_channel_open_forward_unix(channel_, remote_.path.c_str(), "whet", 0);
  if (rc == SSH_OK) return true;
  if (rc == SSH_AGAIN) return false;
  const std::string where =
      absl::StrCat(tcp ? absl::StrCat(remote_.host, " port ", remote_.port) : remote_.path, " at ",
                   session_->where());
  // RFC 4254 section 5.1: 1 is "administratively prohibited", 2 "connect failed".
  const std::string why = ssh_get_error(session_->get());
  if (absl::StrContains(why, "error (1)")) {
    return absl::PermissionDeniedError(absl::StrCat(
        "sshd forbids forwarding to ", where, ": set '",
        tcp ? "AllowTcpForwarding local" : "AllowStreamLocalForwarding yes",
        "' in its sshd_config for this account, and look at permitopen in its authorized_keys"));
  }
  return absl::UnavailableError(absl::StrCat(
      "nothing answers on ", where, " (", why,
      "): start the service there, or correct `socket` in the campaign; the account needs read and "
      "write permission on the socket, and its sshd AllowTcpForwarding, which covers sockets too"));
}

ssize_t LibsshChannel::Write(const char* data, size_t size) {
  if (ssh_channel_is_closed(channel_)) return kBroken;
  // What is written is only what the peer's window and the connection take at once: libssh would
  // queue the rest in memory without limit.
  const size_t window = ssh_channel_window_size(channel_);
  if (window == 0 || session_->Congested()) return 0;
  const size_t n = std::min({size, window, kWriteBytesMax});
  const int written = ssh_channel_write(channel_, data, static_cast<uint32_t>(n));
  return written < 0 ? kBroken : written;
}

ssize_t LibsshChannel::Read(char* data, size_t size) {
  if (!readable_) return 0;
  const int n = ssh_channel_read_nonblocking(channel_, data, static_cast<uint32_t>(size), 0);
  if (n > 0) return n;
  readable_ = false;
  if (n == 0) return ssh_channel_is_eof(channel_) ? kEof : 0;
  return n == SSH_EOF ? kEof : kBroken;
}

void LibsshChannel::SendEof() {
  if (!ssh_channel_is_closed(channel_)) ssh_channel_send_eof(channel_);
}

bool LibsshChannel::WriteClosed() const { return ssh_channel_is_closed(channel_) != 0; }

int LibsshChannel::OnData(ssh_session, ssh_channel, void*, uint32_t, int, void* self) {
  static_cast<LibsshChannel*>(self)->readable_ = true;
  return 0;  // it takes nothing: the bytes stay in libssh's buffer, bounded by the window
}

void LibsshChannel::OnEnd(ssh_session, ssh_channel, void* self) {
  static_cast<LibsshChannel*>(self)->readable_ = true;
}

}  // namespace whetstone
