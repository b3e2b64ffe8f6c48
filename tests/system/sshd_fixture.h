// A real sshd of the test's own on loopback (deploy/private_sshd.sh), with generated keys.
#ifndef WHETSTONE_TESTS_SYSTEM_SSHD_FIXTURE_H_
#define WHETSTONE_TESTS_SYSTEM_SSHD_FIXTURE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file.h"

namespace whetstone {

class PrivateSshd {
 public:
  static absl::StatusOr<std::unique_ptr<PrivateSshd>> Start();
  ~PrivateSshd();

  // Puts these lines before all others of the server's configuration when it starts again.
  absl::Status Configure(const std::string& lines) const;
  // Ends the server and all its connections / starts it again with the same keys and port.
  absl::Status Stop();
  absl::Status Restart();

  // Signals the server with all its connections / its connections alone.
  void Signal(int signal) const;
  void SignalConnections(int signal) const;

  int port() const { return port_; }
  // Holds host_key, user_key, authorized_keys, known_hosts, sshd_config, ssh_config.
  const std::string& dir() const { return dir_.path(); }
  // Sends every host alias here.
  std::string ssh_config() const { return dir() + "/ssh_config"; }
  // Writes a changed copy of ssh_config: every line that begins with `keyword` replaced by `line`.
  std::string SshConfigWith(const std::string& name, const std::string& keyword,
                            const std::string& line) const;
  // Writes an ssh_config that leads here by another address (of a relay, say), with a known_hosts
  // that expects this server's key there.
  std::string SshConfigBy(const std::string& address, int port) const;
  // Says how a jump host is asked: by which port and key (0, empty: its own), and by which port it
  // asks this server (0: its own).
  struct Jump {
    const PrivateSshd* sshd = nullptr;
    int port = 0;
    std::string key;
    int target_port = 0;
  };
  // Writes an ssh_config at `path` that leads the aliases `hosts` (patterns) here by way of the
  // jump host, which is "jump". The hosts' keys are expected in PATH_known and PATH_known_jump.
  void WriteSshConfigThrough(const Jump& jump, const std::string& hosts,
                             const std::string& path) const;

 private:
  explicit PrivateSshd(TempDir dir) : dir_(std::move(dir)) {}
  absl::Status Run(const std::string& arguments) const;
  void SignalTree(int signal, bool server) const;
  // Returns known_hosts with this server's key at another port as well.
  std::string KnownAt(int port) const;

  const TempDir dir_;
  int port_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_SSHD_FIXTURE_H_
