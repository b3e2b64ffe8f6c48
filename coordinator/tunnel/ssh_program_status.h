// The `ssh` program tells its errors in words. They are understood here.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_SSH_PROGRAM_STATUS_H_
#define WHETSTONE_COORDINATOR_TUNNEL_SSH_PROGRAM_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {

// Returns the error that ssh's last words mean (those of OpenLibsshTunnel), on its way to `where`,
// and what to do about it.
absl::Status StatusFromSshProgram(const std::string& said, const std::string& where,
                                  const TunnelOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_SSH_PROGRAM_STATUS_H_
