#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/tunnel/sockets.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {
namespace {

class SshProgramTunnelTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.host = "gpu01";
    options_.remote_socket = "/run/whetstone/worker.sock";
    options_.local_socket = dir_.path() + "/local.sock";
  }
  // Opens the tunnel with this PATH.
  absl::StatusOr<std::unique_ptr<Tunnel>> OpenWithPath(const std::string& path) const {
    const std::string usual = std::getenv("PATH");
    setenv("PATH", path.c_str(), 1);
    auto tunnel = OpenSshProgramTunnel(options_);
    setenv("PATH", usual.c_str(), 1);
    return tunnel;
  }

  const TempDir dir_ = *TempDir::Make("tun");
  TunnelOptions options_;
};

TEST_F(SshProgramTunnelTest, AMissingProgramSaysWhatToInstallOrSet) {
  const auto tunnel = OpenWithPath(dir_.path());
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kNotFound) << tunnel.status();
  for (const char* part : {"openssh-client", "cluster.tunnel: libssh"}) {
    EXPECT_NE(std::string(tunnel.status().message()).find(part), std::string::npos)
        << tunnel.status();
  }
}

// ssh binds its socket and then listens on it; between the two it exists, and refuses.
TEST_F(SshProgramTunnelTest, ASocketThatDoesNotListenYetIsWaitedFor) {
  const std::string ready = dir_.path() + "/ready.sock";
  const UniqueFd listener = *ListenUnix(ready);
  const std::string ssh = dir_.path() + "/ssh";
  ASSERT_TRUE(WriteFileAtomically(
                  ssh, absl::StrCat("#!/bin/sh\n: > ", options_.local_socket, "\nsleep 0.3\nmv ",
                                    ready, " ", options_.local_socket, "\nexec sleep 60\n"))
                  .ok());
  ASSERT_EQ(chmod(ssh.c_str(), 0700), 0);
  const auto tunnel = OpenWithPath(dir_.path() + ":" + std::getenv("PATH"));
  EXPECT_TRUE(tunnel.ok()) << tunnel.status();
}

}  // namespace
}  // namespace whetstone
