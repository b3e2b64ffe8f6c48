#include "coordinator/tunnel/ssh_session.h"

#include <libssh/server.h>  // ssh_send_keepalive
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/shell_word.h"
#include "common/status_macros.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/ssh_program_status.h"
#include "coordinator/tunnel/ssh_target.h"

namespace whetstone {
namespace {

// So many reads come in one go before other work gets its turn, and libssh reads at most so many
// bytes each time.
constexpr int kReadsMax = 64;
constexpr uint64_t kReadBytes = 4096;

// With AES in hardware, which every host of these has, its first ciphers cost a fifth of libssh's
// own choice (ChaCha20). `Ciphers` in an ssh_config goes before.
constexpr char kCiphers[] =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,"
    "aes192-ctr,aes128-ctr";

constexpr char kJumpWords[] = "-W '[%h]:%p'";

std::string Option(ssh_session session, ssh_options_e option) {
  char* value = nullptr;
  if (ssh_options_get(session, option, &value) != SSH_OK || value == nullptr) return "";
  std::string text = value;
  ssh_string_free_char(value);
  return text;
}

// Returns the program that the ssh_config asks for, ready for a shell, or nothing. libssh makes
// "ssh … -W '[%h]:%p' JUMP" of a ProxyJump. The ssh it starts must read the same configuration,
// verify the jump host's key strictly and never ask a question. `*where` becomes what it passes.
std::string JumpCommand(ssh_session session, const std::string& config, const SshTarget& target,
                        const std::string& host, int port, std::string* where) {
  std::string command = Option(session, SSH_OPTIONS_PROXYCOMMAND);
  if (command.empty()) return command;
  absl::string_view rest = command;
  if (absl::ConsumePrefix(&rest, "ssh ") && absl::StrContains(rest, kJumpWords)) {
    *where = absl::StrCat("jump host ", rest.substr(rest.rfind(' ') + 1));
    const std::string quoted = absl::StrReplaceAll(ShellWord(config), {{"%", "%%"}});
    command = absl::StrCat("ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o LogLevel=INFO ",
                           config.empty() ? "" : absl::StrCat("-F ", quoted, " "), rest);
  } else {
    *where = "the ProxyCommand of its ssh_config";
  }
  return absl::StrReplaceAll(command, {{"%%", "%"},
                                       {"%h", host},
                                       {"%n", target.host},
                                       {"%p", absl::StrCat(port)},
                                       {"%r", Option(session, SSH_OPTIONS_USER)}});
}

struct KeyDeleter {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, KeyDeleter>;

// Returns "ssh-ed25519 SHA256:…", as ssh-keygen -l prints it.
std::string Fingerprint(ssh_key key) {
  unsigned char* hash = nullptr;
  size_t length = 0;
  if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &length) != SSH_OK) return "?";
  char* text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
  ssh_clean_pubkey_hash(&hash);
  std::string result =
      absl::StrCat(ssh_key_type_to_char(ssh_key_type(key)), " ", text == nullptr ? "?" : text);
  ssh_string_free_char(text);
  return result;
}

// libssh skips "@revoked" lines of known_hosts, so a revoked key that is also listed would pass.
bool IsRevoked(const std::string& known_hosts, ssh_key key) {
  char* base64 = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) return true;
  const std::string wanted = base64;
  ssh_string_free_char(base64);
  std::ifstream in(known_hosts);
  for (std::string line; std::getline(in, line);) {
    if (absl::StartsWith(line, "@revoked") && absl::StrContains(line, wanted)) return true;
  }
  return false;
}

}  // namespace

absl::Status StatusFromSsh(void* session, absl::StatusCode code, const std::string& what) {
  std::string why = ssh_get_error(session);
  if (why.empty()) why = "no reason given";
  return absl::Status(code, absl::StrCat(what, ": ", why));
}

absl::StatusOr<std::unique_ptr<SshSession>> SshSession::Connect(const TunnelOptions& options,
                                                                const std::function<bool()>& stop) {
  const Clock::time_point deadline = Clock::now() + options.connect_deadline;
  std::unique_ptr<SshSession> session(new SshSession);
  RETURN_IF_ERROR(session->Configure(options));
  const absl::Status status = session->LogIn(options, deadline, stop);
  JumpProcess* const jump = session->jump_.get();
  if (absl::IsUnavailable(status) && jump != nullptr && jump->Ended()) {
    const std::string said = jump->LastWords();
    if (!said.empty()) {
      const absl::Status told = StatusFromSshProgram(said, session->where_, options);
      return absl::Status(told.code(), absl::StrCat(told.message(), "; ", status.message()));
    }
  }
  RETURN_IF_ERROR(status);
  if (jump != nullptr) session->jump_greeting_ = jump->LastWords();
  session->event_ = ssh_event_new();
  CHECK(session->event_ != nullptr);
  CHECK(ssh_event_add_session(session->event_, session->session_) == SSH_OK);
  return session;
}

SshSession::~SshSession() {
  if (event_ != nullptr) {
    ssh_event_remove_session(event_, session_);
    ssh_event_free(event_);
  }
  if (session_ != nullptr) {
    // It closes the connection. ssh_disconnect says good-bye first, but leaves open a descriptor
    // that was given to it (libssh 0.10).
    ssh_silent_disconnect(session_);
    ssh_free(session_);
  }
}

absl::Status SshSession::Configure(const TunnelOptions& options) {
  ASSIGN_OR_RETURN(const SshTarget target, ParseSshTarget(options.host));
  session_ = ssh_new();
  CHECK(session_ != nullptr);
  ssh_set_blocking(session_, 0);
  ssh_set_counters(session_, &received_, nullptr);
  ssh_options_set(session_, SSH_OPTIONS_HOST, target.host.c_str());
  if (!target.user.empty()) ssh_options_set(session_, SSH_OPTIONS_USER, target.user.c_str());
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_C_S, kCiphers);
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_S_C, kCiphers);

  const std::string config = ExpandHome(options.ssh_config);
  if (!config.empty() && access(config.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the ssh_config ", config,
                                                   ": correct cluster.ssh_config in the campaign"));
  }
  if (ssh_options_parse_config(session_, config.empty() ? nullptr : config.c_str()) != SSH_OK) {
    return StatusFromSsh(session_, absl::StatusCode::kInvalidArgument,
                         absl::StrCat("cannot understand the ssh_config ", config));
  }
  // The campaign's port is set after the file is read, so that it wins.
  if (target.port != 0) {
    const unsigned int port = static_cast<unsigned int>(target.port);
    ssh_options_set(session_, SSH_OPTIONS_PORT, &port);
  }
  // With "StrictHostKeyChecking no" libssh would call an unknown, even a changed key known.
  const int strict = 1;
  ssh_options_set(session_, SSH_OPTIONS_STRICTHOSTKEYCHECK, &strict);

  host_ = Option(session_, SSH_OPTIONS_HOST);
  unsigned int port = 22;
  ssh_options_get_port(session_, &port);
  port_ = port == 0 ? 22 : static_cast<int>(port);
  where_ = absl::StrCat(host_, " port ", port_);
  // The user is libssh's own choice where nobody has named one.
  if (Option(session_, SSH_OPTIONS_USER).empty()) {
    ssh_options_set(session_, SSH_OPTIONS_USER, nullptr);
  }
  std::string jump;
  jump_command_ = JumpCommand(session_, config, target, host_, port_, &jump);
  if (!jump.empty()) absl::StrAppend(&where_, " by way of ", jump);
  return absl::OkStatus();
}

// The connection is ours in either case: every address of a host has its turn, an error says what
// happened, and a jump program ends when we say so.
absl::StatusOr<UniqueFd> SshSession::Reach(const TunnelOptions& options, Clock::time_point deadline,
                                           const std::function<bool()>& stop) {
  if (jump_command_.empty()) {
    return ConnectTcp(host_, port_, deadline, options.dead_after, stop);
  }
  UniqueFd fd;
  ASSIGN_OR_RETURN(jump_,
                   JumpProcess::Start(jump_command_, options.local_socket + ".jump.log", &fd));
  return fd;
}

absl::Status SshSession::LogIn(const TunnelOptions& options, Clock::time_point deadline,
                               const std::function<bool()>& stop) {
  RETURN_IF_ERROR(Handshake(options, deadline, stop));
  RETURN_IF_ERROR(VerifyHostKey());
  return Authenticate(options, deadline, stop);
}

absl::Status SshSession::Handshake(const TunnelOptions& options, Clock::time_point deadline,
                                   const std::function<bool()>& stop) {
  ASSIGN_OR_RETURN(UniqueFd fd, Reach(options, deadline, stop));
  const socket_t raw = fd.release();  // libssh closes it
  ssh_options_set(session_, SSH_OPTIONS_FD, &raw);
  ASSIGN_OR_RETURN(const int rc, Repeat([this] { return ssh_connect(session_); }, SSH_AGAIN,
                                        deadline, stop, "the SSH handshake"));
  if (rc != SSH_OK) {
    return StatusFromSsh(session_, absl::StatusCode::kUnavailable,
                         absl::StrCat("no SSH connection to ", where_));
  }
  user_ = Option(session_, SSH_OPTIONS_USER);
  where_ = absl::StrCat(user_, "@", where_);
  return absl::OkStatus();
}

absl::Status SshSession::VerifyHostKey() const {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session_, &raw) != SSH_OK) {
    return StatusFromSsh(session_, absl::StatusCode::kUnavailable,
                         absl::StrCat("no host key from ", where_));
  }
  const Key key(raw);
  const std::string file = Option(session_, SSH_OPTIONS_KNOWNHOSTS);
  const std::string global = Option(session_, SSH_OPTIONS_GLOBAL_KNOWNHOSTS);
  const std::string name = port_ == 22 ? host_ : absl::StrCat("[", host_, "]:", port_);
  const std::string shown = Fingerprint(key.get());
  if (IsRevoked(file, key.get()) || IsRevoked(global, key.get())) {
    return absl::PermissionDeniedError(absl::StrCat("the host key of ", where_, " (", shown,
                                                    ") is marked @revoked in known_hosts"));
  }
  switch (ssh_session_is_known_server(session_)) {
    case SSH_KNOWN_HOSTS_OK:
      return absl::OkStatus();
    case SSH_KNOWN_HOSTS_CHANGED:
    case SSH_KNOWN_HOSTS_OTHER:
      return absl::PermissionDeniedError(absl::StrCat(
          "the host key of ", where_, " is not the one in ", file, ": it shows ", shown,
          ". Somebody may be listening in, or the host was installed anew. If its administrator "
          "confirms that fingerprint, run: ssh-keygen -f ",
          file, " -R '", name, "'  and then connect once with ssh"));
    case SSH_KNOWN_HOSTS_UNKNOWN:
    case SSH_KNOWN_HOSTS_NOT_FOUND:
      return absl::PermissionDeniedError(
          absl::StrCat("the host key of ", where_, " (", shown, ") is not in ", file,
                       ". Compare that fingerprint with the host's own (ssh-keygen -l -f "
                       "/etc/ssh/ssh_host_ed25519_key.pub), then connect once with ssh to add it"));
    case SSH_KNOWN_HOSTS_ERROR:
      break;
  }
  return StatusFromSsh(session_, absl::StatusCode::kPermissionDenied,
                       absl::StrCat("cannot check the host key of ", where_, " against ", file));
}

absl::Status SshSession::Authenticate(const TunnelOptions& options, Clock::time_point deadline,
                                      const std::function<bool()>& stop) {
  // The configured key comes first: a server counts refused keys (MaxAuthTries), and an agent may
  // hold many.
  int rc = SSH_AUTH_DENIED;
  const std::string identity = Option(session_, SSH_OPTIONS_IDENTITY);
  ssh_key raw = nullptr;
  if (!identity.empty() && access(identity.c_str(), R_OK) == 0 &&
      ssh_pki_import_privkey_file(identity.c_str(), nullptr, nullptr, nullptr, &raw) == SSH_OK) {
    const Key key(raw);
    ASSIGN_OR_RETURN(rc,
                     Repeat([&] { return ssh_userauth_publickey(session_, nullptr, key.get()); },
                            SSH_AUTH_AGAIN, deadline, stop, "the answer to our key"));
  }
  if (rc != SSH_AUTH_SUCCESS && !Broken()) {  // whose reason would be lost
    ASSIGN_OR_RETURN(rc,
                     Repeat([&] { return ssh_userauth_publickey_auto(session_, nullptr, nullptr); },
                            SSH_AUTH_AGAIN, deadline, stop, "the answer to our keys"));
  }
  if (rc == SSH_AUTH_SUCCESS) return absl::OkStatus();
  // A host that has refused one key too many says so before it hangs up.
  if (Broken() && !absl::StrContains(ssh_get_error(session_), "Too many authentication failures")) {
    return StatusFromSsh(
        session_, absl::StatusCode::kUnavailable,
        absl::StrCat("the SSH connection to ", where_, " broke while our key was looked at"));
  }
  const std::string config = options.ssh_config.empty() ? "" : "-F " + options.ssh_config + " ";
  return absl::UnauthenticatedError(absl::StrCat(
      where_, " refused every key (first offered: ", identity.empty() ? "none" : identity,
      "). Add its .pub to ~/.ssh/authorized_keys of ", user_,
      " there, set IdentityFile in ssh_config, or load the key into ssh-agent if it has a "
      "passphrase; check with: ssh ",
      config, options.host, " true"));
}

absl::StatusOr<int> SshSession::Repeat(const std::function<int()>& call, int again,
                                       Clock::time_point deadline,
                                       const std::function<bool()>& stop, const std::string& what) {
  while (true) {
    const int rc = call();
    if (rc != again) return rc;
    if (Broken()) return SSH_ERROR;
    if (stop && stop()) return absl::CancelledError(absl::StrCat("stopped waiting for ", what));
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer from ", where_, " while waiting for ", what,
                       ": the host hangs, or that port is not an sshd"));
    }
    pollfd p = {fd(), POLLIN, 0};
    if ((ssh_get_status(session_) & SSH_WRITE_PENDING) != 0) p.events |= POLLOUT;
    poll(&p, 1, static_cast<int>(std::min<int64_t>(left.count(), 20)));
  }
}

absl::Status SshSession::HandlePackets() {
  for (int i = 0; i < kReadsMax; ++i) {
    const uint64_t before = received_bytes();
    const int rc = ssh_event_dopoll(event_, 0);
    if (rc == SSH_ERROR || Broken()) {
      const absl::Status broke =
          StatusFromSsh(session_, absl::StatusCode::kUnavailable,
                        absl::StrCat("the SSH connection to ", where_, " broke"));
      const std::string said = jump_ == nullptr ? "" : jump_->LastWords();
      if (said.empty() || said == jump_greeting_) return broke;
      return absl::UnavailableError(absl::StrCat(broke.message(), "; ssh said: ", said));
    }
    if (rc == SSH_AGAIN) break;
    // That was all that had come; the next poll sees what comes from here on.
    const uint64_t bytes = received_bytes() - before;
    if (bytes > 0 && bytes < kReadBytes) break;
  }
  return absl::OkStatus();
}

bool SshSession::Congested() {
  pollfd p = {fd(), POLLOUT, 0};
  if ((ssh_get_status(session_) & SSH_WRITE_PENDING) != 0 || poll(&p, 1, 0) != 1 ||
      (p.revents & POLLOUT) == 0) {
    congested_ = true;
    return true;
  }
  return false;
}

void SshSession::SendKeepalive() {
  // libssh remembers one request in flight: the first call only notes the answer to the request
  // before, the second then sends a new one.
  ssh_send_keepalive(session_);
  ssh_send_keepalive(session_);
}

short SshSession::TakePollEvents() {
  const bool out =
      std::exchange(congested_, false) || (ssh_get_status(session_) & SSH_WRITE_PENDING) != 0;
  return static_cast<short>(out ? POLLIN | POLLOUT : POLLIN);
}

}  // namespace whetstone
