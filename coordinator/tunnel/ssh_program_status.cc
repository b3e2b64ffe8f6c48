#include "coordinator/tunnel/ssh_program_status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace whetstone {

absl::Status StatusFromSshProgram(const std::string& said, const std::string& where,
                                  const TunnelOptions& options) {
  const std::string config =
      options.ssh_config.empty() ? "" : absl::StrCat("-F ", options.ssh_config, " ");
  const std::string check =
      absl::StrCat("; check with: ssh ", config, options.host, " true. ssh said: ", said);
  if (absl::StrContains(said, "Host key verification failed") ||
      absl::StrContains(said, "HOST IDENTIFICATION HAS CHANGED")) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the host key of ", where,
        " is unknown or not the one in the known_hosts file (UserKnownHostsFile of ",
        options.ssh_config.empty() ? "~/.ssh/config" : options.ssh_config,
        "). Compare its fingerprint with the host's own; a key that rightly changed is removed "
        "with ssh-keygen -R",
        check));
  }
  if (absl::StrContains(said, "Permission denied (") ||
      absl::StrContains(said, "Too many authentication failures")) {
    return absl::UnauthenticatedError(
        absl::StrCat(where,
                     " refused every key. Add the public key to ~/.ssh/authorized_keys there, set "
                     "IdentityFile in ssh_config, or load the key into ssh-agent if it has a "
                     "passphrase",
                     check));
  }
  // Only a jump host is asked for this kind of forwarding.
  if (absl::StrContains(said, "administratively prohibited") &&
      absl::StrContains(said, "stdio forwarding failed")) {
    return absl::PermissionDeniedError(
        absl::StrCat(where,
                     " has a jump host whose sshd forbids forwarding: set 'AllowTcpForwarding "
                     "local' in its sshd_config for this account, and look at permitopen in its "
                     "authorized_keys",
                     check));
  }
  if (absl::StrContains(said, "timed out")) {
    return absl::DeadlineExceededError(absl::StrCat("no answer from ", where, check));
  }
  if (absl::StrContains(said, "Bad configuration option")) {
    return absl::InvalidArgumentError(absl::StrCat("ssh does not understand its config", check));
  }
  return absl::UnavailableError(absl::StrCat("no SSH connection to ", where, check));
}

}  // namespace whetstone
