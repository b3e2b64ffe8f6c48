#include "tests/system/sshd_fixture.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"

namespace whetstone {

absl::StatusOr<std::unique_ptr<PrivateSshd>> PrivateSshd::Start() {
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("sshd"));
  std::unique_ptr<PrivateSshd> sshd(new PrivateSshd(std::move(dir)));
  RETURN_IF_ERROR(sshd->Run("start " + sshd->dir()));
  ASSIGN_OR_RETURN(const std::string port, ReadFile(sshd->dir() + "/port"));
  if (!absl::SimpleAtoi(port, &sshd->port_)) return absl::InternalError("no port: " + port);
  return sshd;
}

PrivateSshd::~PrivateSshd() { Stop().IgnoreError(); }

absl::Status PrivateSshd::Configure(const std::string& lines) const {
  return WriteFileAtomically(dir() + "/sshd_config.first", lines);
}

absl::Status PrivateSshd::Stop() { return Run("stop " + dir()); }

absl::Status PrivateSshd::Restart() { return Run(absl::StrCat("start ", dir(), " ", port_)); }

std::string PrivateSshd::SshConfigWith(const std::string& name, const std::string& keyword,
                                       const std::string& line) const {
  std::string changed;
  for (absl::string_view old : absl::StrSplit(*ReadFile(ssh_config()), '\n')) {
    absl::StrAppend(&changed,
                    absl::StartsWith(absl::StripLeadingAsciiWhitespace(old), keyword) ? line : old,
                    "\n");
  }
  const std::string path = absl::StrCat(dir(), "/", name);
  CHECK(WriteFileAtomically(path, changed).ok());
  return path;
}

std::string PrivateSshd::SshConfigBy(const std::string& address, int port) const {
  const std::string stem = absl::StrCat(dir(), "/by_", address, "_", port);
  const std::string here = absl::StrCat("[127.0.0.1]:", port_);
  CHECK(WriteFileAtomically(stem + "_known_hosts",
                            absl::StrReplaceAll(*ReadFile(dir() + "/known_hosts"),
                                                {{here, absl::StrCat("[", address, "]:", port)}}))
            .ok());
  CHECK(WriteFileAtomically(
            stem, absl::StrReplaceAll(*ReadFile(ssh_config()),
                                      {{"HostName 127.0.0.1", "HostName " + address},
                                       {absl::StrCat("Port ", port_), absl::StrCat("Port ", port)},
                                       {dir() + "/known_hosts", stem + "_known_hosts"}}))
            .ok());
  return stem;
}

void PrivateSshd::WriteSshConfigThrough(const Jump& jump, const std::string& hosts,
                                        const std::string& path) const {
  const int jump_port = jump.port == 0 ? jump.sshd->port() : jump.port;
  const std::string known = path + "_known", known_jump = path + "_known_jump";
  CHECK(WriteFileAtomically(known, KnownAt(jump.target_port)).ok());
  CHECK(WriteFileAtomically(known_jump, jump.sshd->KnownAt(jump_port)).ok());
  // Of every keyword the first counts.
  const std::string target =
      absl::StrCat("Host ", hosts, "\n  ProxyJump jump\n  UserKnownHostsFile ", known, "\n",
                   jump.target_port == 0 ? "" : absl::StrCat("  Port ", jump.target_port, "\n"),
                   absl::StrReplaceAll(*ReadFile(ssh_config()), {{"Host *", "Host " + hosts}}));
  const std::string key = jump.key.empty() ? jump.sshd->dir() + "/user_key" : jump.key;
  CHECK(
      WriteFileAtomically(path, absl::StrCat(target, "Host jump\n  HostName 127.0.0.1\n  Port ",
                                             jump_port, "\n  IdentityFile ", key,
                                             "\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n"
                                             "  UserKnownHostsFile ",
                                             known_jump, "\n"))
          .ok());
}

std::string PrivateSshd::KnownAt(int port) const {
  const std::string known = *ReadFile(dir() + "/known_hosts");
  return absl::StrCat(known, "[127.0.0.1]:", port, known.substr(known.find(' ')));
}

void PrivateSshd::Signal(int signal) const { SignalTree(signal, /*server=*/true); }
void PrivateSshd::SignalConnections(int signal) const { SignalTree(signal, /*server=*/false); }

void PrivateSshd::SignalTree(int signal, bool server) const {
  pid_t root = 0;
  CHECK(absl::SimpleAtoi(*ReadFile(dir() + "/sshd.pid"), &root));
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const absl::StatusOr<std::string> stat = ReadFile(entry.path().string() + "/stat");
    if (!stat.ok()) continue;  // It has just ended.
    // The text is "PID (NAME) STATE PARENT …"; a name may hold anything.
    const std::vector<std::string> words = absl::StrSplit(stat->substr(stat->rfind(')')), ' ');
    if (words.size() > 2) (void)absl::SimpleAtoi(words[2], &parents[pid]);
  }
  const std::function<void(pid_t)> tell = [&](pid_t pid) {
    if (pid != root || server) kill(pid, signal);
    for (const auto& [child, parent] : parents) {
      if (parent == pid) tell(child);
    }
  };
  tell(root);
}

absl::Status PrivateSshd::Run(const std::string& arguments) const {
  const std::string command = absl::StrCat(SourceDir(), "/deploy/private_sshd.sh ", arguments);
  if (std::system(command.c_str()) != 0) return absl::InternalError(command + " failed");
  return absl::OkStatus();
}

}  // namespace whetstone
