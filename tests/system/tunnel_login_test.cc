// These tests try how a Tunnel signs in: hosts, host keys, our keys, ssh_config, deadlines; against
// a real sshd on loopback, for each implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "coordinator/process/child_process.h"
#include "tests/system/tunnel_fixture.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;
using testing::HasSubstr;

class TunnelLoginTest : public TunnelTest {
 protected:
  static std::string ServerName() { return absl::StrCat("[127.0.0.1]:", sshd_->port()); }
  // From here on options_ believe this known_hosts.
  void UseKnownHosts(const std::string& content) {
    const std::string known = dir_->path() + "/known_hosts";
    ASSERT_TRUE(WriteFileAtomically(known, content).ok());
    options_.ssh_config = sshd_->SshConfigWith("known", "UserKnownHostsFile",
                                               absl::StrCat("  UserKnownHostsFile ", known));
  }
};

TEST_P(TunnelLoginTest, ChangedHostKeyIsRefused) {
  const Service service(options_.remote_socket, Echo);
  // Some other key, which is not the server's, stands under the server's name.
  const std::string other = *ReadFile(sshd_->dir() + "/user_key.pub");
  const std::string known = dir_->path() + "/known_hosts";
  ASSERT_TRUE(WriteFileAtomically(known, absl::StrCat("[127.0.0.1]:", sshd_->port(), " ",
                                                      other.substr(0, other.rfind(' ')), "\n"))
                  .ok());
  options_.ssh_config = sshd_->SshConfigWith("changed", "UserKnownHostsFile",
                                             absl::StrCat("  UserKnownHostsFile ", known));
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr(known));
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("ssh-keygen"));
  EXPECT_EQ(service.connections(), 0);
}

TEST_P(TunnelLoginTest, UnknownHostKeyIsRefusedEvenIfTheConfigWouldAllowIt) {
  const Service service(options_.remote_socket, Echo);
  const std::string known = dir_->path() + "/known_hosts";
  ASSERT_TRUE(WriteFileAtomically(known, "").ok());
  sshd_->SshConfigWith("lax1", "StrictHostKeyChecking", "  StrictHostKeyChecking no");
  const std::string lax = *ReadFile(sshd_->dir() + "/lax1");
  const std::string config = dir_->path() + "/config";
  const std::string real = sshd_->dir() + "/known_hosts";
  std::string text = lax;
  text.replace(text.find(real), real.size(), known);
  ASSERT_TRUE(WriteFileAtomically(config, text).ok());
  options_.ssh_config = config;
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("host key"));
  EXPECT_EQ(*ReadFile(known), "") << "nothing may be added silently";
}

TEST_P(TunnelLoginTest, RefusedKeyIsAnErrorThatSaysWhichAndWhatToDo) {
  const Service service(options_.remote_socket, Echo);
  options_.ssh_config = sshd_->SshConfigWith(
      "wrong_key", "IdentityFile", absl::StrCat("  IdentityFile ", sshd_->dir(), "/host_key"));
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnauthenticated) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("authorized_keys"));
}

TEST_P(TunnelLoginTest, RefusedConnectionSaysSo) {
  options_.host = "127.0.0.1:1";
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnavailable) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("port 1"));
}

TEST_P(TunnelLoginTest, UnknownHostNameSaysSo) {
  options_.ssh_config = dir_->path() + "/config";
  ASSERT_TRUE(WriteFileAtomically(options_.ssh_config, "Host *\n  Port 22\n").ok());
  options_.host = "no-such-host.invalid";
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kUnavailable) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("no-such-host.invalid"));
}

// The host accepts connections and then says nothing.
TEST_P(TunnelLoginTest, SilentHostMeetsTheDeadline) {
  int port = 0;
  const UniqueFd listener = ListenTcp("127.0.0.1", &port);
  options_.host = absl::StrCat("127.0.0.1:", port);
  options_.connect_deadline = milliseconds(1000);
  const auto start = SteadyClock::now();
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kDeadlineExceeded) << tunnel.status();
  EXPECT_LT(SteadyClock::now() - start, seconds(8));
}

TEST_P(TunnelLoginTest, MissingSshConfigIsAnErrorThatNamesIt) {
  options_.ssh_config = dir_->path() + "/nowhere";
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kInvalidArgument) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr(options_.ssh_config));
}

TEST_P(TunnelLoginTest, OpeningCanBeCancelled) {
  int port = 0;
  const UniqueFd listener = ListenTcp("127.0.0.1", &port);
  options_.host = absl::StrCat("127.0.0.1:", port);
  options_.connect_deadline = seconds(60);
  const auto start = SteadyClock::now();
  options_.cancelled = [start] { return SteadyClock::now() - start > milliseconds(200); };
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kCancelled) << tunnel.status();
  EXPECT_LT(SteadyClock::now() - start, seconds(10));
}

// known_hosts has only a key of another kind for this host.
TEST_P(TunnelLoginTest, AHostKeyOfAnotherKindIsRefused) {
  const Service service(options_.remote_socket, Echo);
  const std::string other = dir_->path() + "/ecdsa";
  ASSERT_EQ(std::system(("ssh-keygen -q -t ecdsa -N '' -C x -f " + other).c_str()), 0);
  UseKnownHosts(absl::StrCat(ServerName(), " ", *ReadFile(other + ".pub")));
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_THAT(std::string(tunnel.status().message()), HasSubstr("host key"));
  EXPECT_EQ(service.connections(), 0);
}

TEST_P(TunnelLoginTest, ARevokedHostKeyIsRefusedThoughItIsKnown) {
  const Service service(options_.remote_socket, Echo);
  const std::string known = *ReadFile(sshd_->dir() + "/known_hosts");
  UseKnownHosts(absl::StrCat(known, "@revoked ", known));
  const auto tunnel = Open();
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kPermissionDenied) << tunnel.status();
  EXPECT_EQ(service.connections(), 0);
}

TEST_P(TunnelLoginTest, AnEncryptedKeyServesThroughTheAgentOnly) {
  const Service service(options_.remote_socket, Echo);
  const std::string key = dir_->path() + "/locked";
  const std::string socket = dir_->path() + "/agent";
  ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -a 1 -N secret -C x -f " + key).c_str()), 0);
  std::ofstream(sshd_->dir() + "/authorized_keys", std::ios::app) << *ReadFile(key + ".pub");
  const std::string lines = absl::StrCat("  IdentityFile ", key, "\n  IdentityAgent ", socket);
  options_.ssh_config =
      sshd_->SshConfigWith(absl::StrCat("locked_", GetParam().name), "IdentityFile", lines);
  const auto locked = Open();
  EXPECT_EQ(locked.status().code(), absl::StatusCode::kUnauthenticated) << locked.status();
  EXPECT_THAT(std::string(locked.status().message()), HasSubstr("ssh-agent"));

  ChildOptions agent_options;
  agent_options.argv = {"ssh-agent", "-D", "-a", socket};
  const auto agent = ChildProcess::Start(agent_options);
  ASSERT_TRUE(agent.ok()) << agent.status();
  ASSERT_TRUE(Eventually([&] { return access(socket.c_str(), F_OK) == 0; }));
  const std::string ask = dir_->path() + "/ask";
  std::ofstream(ask) << "#!/bin/sh\necho secret\n";
  ASSERT_EQ(chmod(ask.c_str(), 0700), 0);
  ASSERT_EQ(std::system(absl::StrCat("SSH_ASKPASS_REQUIRE=force SSH_ASKPASS=", ask,
                                     " SSH_AUTH_SOCK=", socket, " ssh-add -q ", key, " </dev/null")
                            .c_str()),
            0);
  const auto tunnel = Open();
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_TRUE(RoundTrip());
}

TEST_P(TunnelLoginTest, AnAliasOfTheConfigLeadsToItsHost) {
  const Service service(options_.remote_socket, Echo);
  const std::string base = *ReadFile(sshd_->ssh_config());
  const std::string settings = base.substr(base.find('\n') + 1);
  options_.ssh_config = dir_->path() + "/config";
  ASSERT_TRUE(WriteFileAtomically(options_.ssh_config,
                                  absl::StrCat("Host trainer-? other\n", settings,
                                               "Host *\n  HostName 127.0.0.1\n  Port 1\n"))
                  .ok());
  options_.host = "trainer-1";
  {
    const auto tunnel = Open();
    ASSERT_TRUE(tunnel.ok()) << tunnel.status();
    EXPECT_TRUE(RoundTrip());
  }
  options_.host = "trainer-10";
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kUnavailable);
}

INSTANTIATE_TUNNEL_TESTS(TunnelLoginTest);

}  // namespace
}  // namespace whetstone
