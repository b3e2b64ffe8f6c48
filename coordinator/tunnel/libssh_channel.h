// A LibsshChannel is one stream to a unix socket or TCP port of the host
// (direct-streamlocal@openssh.com, direct-tcpip) as a ByteChannel.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_LIBSSH_CHANNEL_H_
#define WHETSTONE_COORDINATOR_TUNNEL_LIBSSH_CHANNEL_H_

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include "absl/status/statusor.h"
#include "coordinator/tunnel/byte_copier.h"
#include "coordinator/tunnel/ssh_session.h"
#include "coordinator/tunnel/ssh_target.h"

namespace whetstone {

// A channel belongs to the session's thread; the session (borrowed) must outlive it.
class LibsshChannel final : public ByteChannel {
 public:
  LibsshChannel(SshSession* session, const RemoteEnd& remote);
  ~LibsshChannel() override;
  LibsshChannel(const LibsshChannel&) = delete;
  LibsshChannel& operator=(const LibsshChannel&) = delete;

  // Opens the channel: call it until it returns true; it never blocks. UNAVAILABLE: nothing listens
  // there. PERMISSION_DENIED: the server forbids it.
  absl::StatusOr<bool> TryOpen();

  ssize_t Write(const char* data, size_t size) override;
  ssize_t Read(char* data, size_t size) override;
  void SendEof() override;
  bool WriteClosed() const override;

 private:
  static int OnData(ssh_session session, ssh_channel channel, void* data, uint32_t length,
                    int is_stderr, void* self);
  static void OnEnd(ssh_session session, ssh_channel channel, void* self);

  SshSession* const session_;
  const RemoteEnd remote_;
  ssh_channel channel_ = nullptr;
  ssh_channel_callbacks_struct callbacks_ = {};
  // This is true if something may wait in libssh's buffer. Asking libssh instead would cost a
  // system call each time.
  bool readable_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_LIBSSH_CHANNEL_H_
